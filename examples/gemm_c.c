/* Tilesmith from C: plan GEMM problems, run each directly, inside a CUDA graph and in one call, and compare with a plain CPU loop.
 *
 *   gemm_c DATABASE [TYPE,TRANSPOSES,M,N,K[,RUNG]]...
 *
 * DATABASE is a tuned database or a bundle; "default" for your own or the one that ships, "-" for none. With RUNG (exact, model or generic) the plan must come
 * from that level. One line a problem. Exit status: 0 all right, 1 something was wrong, 2 nothing could be run. */
#include <math.h>
#include <tilesmith/tilesmith.h>

#include "cuda_driver.h"
#include "host_matrix.h"

struct run {
  const struct cuda_driver* cuda;
  struct CUstream_st* stream;
  const tilesmith_problem* problem;
  struct host_matrix a, b, c;               /* on the host */
  float* op_b;                              /* [k, n] row-major: op(B), for the CPU loop */
  device_pointer a_there, b_there, c_there; /* on the device */
};

static int report(const char* what) {
  fprintf(stderr, "error: %s: %s\n", what, tilesmith_last_error());
  return 2;
}

/* The scale type's bytes of a small integer. */
union scale {
  float f32;
  double f64;
  int32_t s32;
};

static union scale to_scale(const char* type, int value) {
  union scale scale;
  memset(&scale, 0, sizeof scale);
  if (strcmp(type, "f64f64") == 0) scale.f64 = value;
  else if (strstr(type, "s32") != NULL) scale.s32 = value;
  else scale.f32 = (float)value;
  return scale;
}

static double a_at(const struct run* run, int64_t i, int64_t l) {
  return run->problem->transposes[0] == 'T' ? host_get(&run->a, l, i) : host_get(&run->a, i, l);
}

static float* make_op_b(const struct run* run) {
  const tilesmith_problem* p = run->problem;
  float* op_b = malloc((size_t)(p->k * p->n) * sizeof *op_b);
  if (op_b == NULL) {
    fprintf(stderr, "error: no host memory for op(B)\n");
    exit(2);
  }
  for (int64_t l = 0; l < p->k; ++l) {
    for (int64_t j = 0; j < p->n; ++j) {
      op_b[l * p->n + j] = (float)(p->transposes[1] == 'T' ? host_get(&run->b, j, l) : host_get(&run->b, l, j));
    }
  }
  return op_b;
}

/* The largest difference between C on the device and alpha*op(A)*op(B) + beta*C0; rows are sampled where there are too
 * many for a CPU. All values are small integers, so a right result has no difference at all. */
static double max_error(const struct run* run, int alpha, int beta, const struct host_matrix* c0) {
  const tilesmith_problem* p = run->problem;
  const double most_products = 1e9;
  const double row_products = (double)p->n * (double)p->k + 1;
  int64_t rows = (int64_t)(most_products / row_products) + 1;
  double worst = 0;
  double* sums = malloc((size_t)p->n * sizeof *sums);
  if (sums == NULL) return NAN;
  if (rows > p->m) rows = p->m;
  for (int64_t s = 0; s < rows; ++s) {
    const int64_t i = rows == 1 ? p->m - 1 : s * (p->m - 1) / (rows - 1);
    for (int64_t j = 0; j < p->n; ++j) sums[j] = 0;
    for (int64_t l = 0; l < p->k; ++l) {
      const double a = a_at(run, i, l);
      const float* b_row = run->op_b + l * p->n;
      for (int64_t j = 0; j < p->n; ++j) sums[j] += a * b_row[j];
    }
    for (int64_t j = 0; j < p->n; ++j) {
      const double exact = alpha * sums[j] + (beta == 0 ? 0 : beta * host_get(c0, i, j));
      const double difference = fabs(host_get(&run->c, i, j) - host_rounded(run->c.type, exact));
      if (!(difference <= worst)) worst = difference; /* NaN is worst */
    }
  }
  free(sums);
  return worst;
}

/* C is poisoned (NaN, or -1 for integers): with beta = 0 nothing of it may show. */
static void poison(const struct run* run) { CUDA_CHECK(run->cuda->fill(run->c_there, 0xFF, run->c.bytes)); }

static void fetch(struct run* run) {
  CUDA_CHECK(run->cuda->stream_synchronize(run->stream));
  CUDA_CHECK(run->cuda->to_host(run->c.data, run->c_there, run->c.bytes));
}

/* D <- alpha*op(A)*op(B), where beta, which is not given, is 0. */
static tilesmith_status launch(const struct run* run, const tilesmith_plan* plan, int alpha) {
  const union scale scale = to_scale(run->problem->type, alpha);
  tilesmith_run args = TILESMITH_RUN;
  args.operands[TILESMITH_A] = device_address(run->a_there);
  args.operands[TILESMITH_B] = device_address(run->b_there);
  args.operands[TILESMITH_D] = device_address(run->c_there);
  args.operands[TILESMITH_ALPHA] = &scale;
  return tilesmith_plan_run(plan, run->stream, &args);
}

static tilesmith_status in_graph(struct run* run, const tilesmith_plan* plan, int alpha) {
  const struct cuda_driver* cuda = run->cuda;
  void *graph = NULL, *exec = NULL;
  tilesmith_status status;
  CUDA_CHECK(cuda->begin_capture(run->stream, CAPTURE_THREAD_LOCAL));
  status = launch(run, plan, alpha);
  CUDA_CHECK(cuda->end_capture(run->stream, &graph));
  if (status != TILESMITH_OK) return status;
  CUDA_CHECK(cuda->instantiate(&exec, graph, 0));
  poison(run);
  CUDA_CHECK(cuda->synchronize());
  CUDA_CHECK(cuda->graph_launch(exec, run->stream));
  CUDA_CHECK(cuda->graph_launch(exec, run->stream));
  fetch(run);
  CUDA_CHECK(cuda->exec_destroy(exec));
  CUDA_CHECK(cuda->graph_destroy(graph));
  return TILESMITH_OK;
}

/* In one call, by a plan that the library keeps, here for a beta that is not 0: C <- 2*op(A)*op(B) - 3*C. */
static tilesmith_status with_beta(struct run* run, tilesmith_library* library, double* error) {
  struct host_matrix c0 = host_matrix_like(&run->c);
  const union scale alpha = to_scale(run->problem->type, 2);
  const union scale beta = to_scale(run->problem->type, -3);
  tilesmith_run args = TILESMITH_RUN; /* C, which is not given, is D */
  tilesmith_status status;
  host_fill(&c0, 3);
  CUDA_CHECK(run->cuda->to_device(run->c_there, c0.data, c0.bytes));
  args.operands[TILESMITH_A] = device_address(run->a_there);
  args.operands[TILESMITH_B] = device_address(run->b_there);
  args.operands[TILESMITH_D] = device_address(run->c_there);
  args.operands[TILESMITH_ALPHA] = &alpha;
  args.operands[TILESMITH_BETA] = &beta;
  status = tilesmith_gemm(library, run->stream, run->problem, &args);
  if (status == TILESMITH_OK) {
    fetch(run);
    *error = max_error(run, 2, -3, &c0);
  }
  host_free(&c0);
  return status;
}

static tilesmith_status all_ways(struct run* run, tilesmith_library* library, const tilesmith_plan* plan,
                                 double errors[3]) {
  tilesmith_status status;
  poison(run);
  CUDA_CHECK(run->cuda->synchronize());
  status = launch(run, plan, 2);
  if (status != TILESMITH_OK) return status;
  fetch(run);
  errors[0] = max_error(run, 2, 0, NULL);
  status = in_graph(run, plan, 1);
  if (status != TILESMITH_OK) return status;
  errors[1] = max_error(run, 1, 0, NULL);
  return with_beta(run, library, &errors[2]);
}

static void prepare(struct run* run) {
  const tilesmith_problem* p = run->problem;
  const int ta = p->transposes[0] == 'T', tb = p->transposes[1] == 'T';
  run->a = host_matrix_make(host_operand_type(p->type), ta ? p->k : p->m, ta ? p->m : p->k);
  run->b = host_matrix_make(host_operand_type(p->type), tb ? p->n : p->k, tb ? p->k : p->n);
  run->c = host_matrix_make(host_output_type(p->type), p->m, p->n);
  host_fill(&run->a, 1);
  host_fill(&run->b, 2);
  run->op_b = make_op_b(run);
  CUDA_CHECK(run->cuda->mem_alloc(&run->a_there, run->a.bytes));
  CUDA_CHECK(run->cuda->mem_alloc(&run->b_there, run->b.bytes));
  CUDA_CHECK(run->cuda->mem_alloc(&run->c_there, run->c.bytes));
  CUDA_CHECK(run->cuda->to_device(run->a_there, run->a.data, run->a.bytes));
  CUDA_CHECK(run->cuda->to_device(run->b_there, run->b.data, run->b.bytes));
}

static void release(struct run* run) {
  CUDA_CHECK(run->cuda->mem_free(run->a_there));
  CUDA_CHECK(run->cuda->mem_free(run->b_there));
  CUDA_CHECK(run->cuda->mem_free(run->c_there));
  host_free(&run->a);
  host_free(&run->b);
  host_free(&run->c);
  free(run->op_b);
}

/* 0: right; 1: wrong; 2: could not be run. */
static int solve(const struct cuda_driver* cuda, struct CUstream_st* stream, tilesmith_library* library,
                 const tilesmith_problem* problem, const char* expected_level) {
  struct run run;
  tilesmith_plan* plan = NULL;
  tilesmith_explanation why;
  double errors[3] = {NAN, NAN, NAN};
  int right;
  if (tilesmith_plan_create(library, problem, &plan) != TILESMITH_OK) return report("plan");
  if (tilesmith_plan_reserve_workspace(plan) != TILESMITH_OK) return report("workspace");
  if (tilesmith_plan_explain(plan, &why) != TILESMITH_OK) return report("explain");
  memset(&run, 0, sizeof run);
  run.cuda = cuda;
  run.stream = stream;
  run.problem = problem;
  prepare(&run);
  if (all_ways(&run, library, plan, errors) != TILESMITH_OK) return report("run");
  right = errors[0] == 0 && errors[1] == 0 && errors[2] == 0 &&
          (expected_level[0] == '\0' || strcmp(expected_level, why.level) == 0);
  printf("%s %s %lld %lld %lld: level %s%s%s, max error %g, in a graph %g, with beta %g: %s (%s; %s; %s)\n",
         problem->type,
         problem->transposes, (long long)problem->m, (long long)problem->n, (long long)problem->k, why.level,
         expected_level[0] != '\0' ? ", expected " : "", expected_level, errors[0], errors[1], errors[2],
         right ? "PASS" : "FAIL", why.config, why.kernel, why.reason);
  release(&run);
  tilesmith_plan_destroy(plan);
  return right ? 0 : 1;
}

int main(int argc, char** argv) {
  static const char* const kDefaults[] = {"f16f32,NN,1024,1024,1024", "f16f32,NT,1000,1032,520",
                                         "f64f64,TN,257,129,65"};
  const int given = argc > 2;
  const int count = given ? argc - 2 : (int)(sizeof kDefaults / sizeof *kDefaults);
  tilesmith_library* library = NULL;
  struct CUstream_st* stream = NULL;
  struct cuda_driver cuda;
  int worst = 0;
  if (argc < 2) {
    fprintf(stderr, "error: expected a database or bundle, or '-' for none, then TYPE,TRANSPOSES,M,N,K[,RUNG] ...\n");
    return 2;
  }
  const tilesmith_status opened = strcmp(argv[1], "default") == 0
                                      ? tilesmith_open_default(0, &library)
                                      : tilesmith_open(strcmp(argv[1], "-") == 0 ? NULL : argv[1], 0, &library);
  if (opened != TILESMITH_OK) return report(argv[1]);
  cuda = cuda_open(0);
  CUDA_CHECK(cuda.stream_create(&stream, 1 /* does not wait for the default stream */));
  for (int i = 0; i < count; ++i) {
    const char* text = given ? argv[i + 2] : kDefaults[i];
    char type[16], transposes[3], level[16] = "", line[128];
    long long m, n, k;
    tilesmith_problem problem = TILESMITH_PROBLEM;
    int result;
    if (sscanf(text, "%15[^,],%2[^,],%lld,%lld,%lld,%15s", type, transposes, &m, &n, &k, level) < 5) {
      fprintf(stderr, "error: '%s': expected TYPE,TRANSPOSES,M,N,K[,RUNG]\n", text);
      return 2;
    }
    snprintf(line, sizeof line, "%s %s %lld %lld %lld", type, transposes, m, n, k);
    if (tilesmith_problem_parse(&problem, line) != TILESMITH_OK) return report(text);
    if (m < 1 || n < 1 || k < 1 || m * n > (1LL << 32) || m * k > (1LL << 32) || n * k > (1LL << 32)) {
      fprintf(stderr, "error: '%s': expected matrices of 1 to 2^32 elements\n", text);
      return 2;
    }
    result = solve(&cuda, stream, library, &problem, level);
    if (result > worst) worst = result;
  }
  CUDA_CHECK(cuda.stream_destroy(stream));
  tilesmith_close(library);
  CUDA_CHECK(cuda.primary_release(cuda.device));
  return worst;
}
