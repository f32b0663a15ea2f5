#include "db/former_hashes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "db/migrations.hpp"
#include "kernels/plan_hash.hpp"

namespace tilesmith::db {
namespace {

constexpr std::string_view kOptions = "--gpu-architecture=sm_90a --std=c++17 --device-as-default-execution-space";
constexpr std::size_t kDigits = 32;

/// The last template hash of a family, and of some of its plans the hashes that they had then.
struct LastTemplate {
  std::string_view family, template_hash;
};
constexpr std::array kLastTemplates = {
    LastTemplate{"simt", "4d3b939e73001b6b3f94a47e9b5524c520645f7f886d7865c890c491e6328c70"},
    LastTemplate{"wmma", "3514093822ecd1a3f934afe2d43ae797e2d7f8e07bccd0ec63a16948603cbd47"},
    LastTemplate{"mma", "891025467e84e6fa8bc1324b34af13f570ff4573d0780f34986bcd9c2c728600"},
    LastTemplate{"wgmma", "fdf670fdec21bb1eb9c55007da58be5ec313bad68c597672bb3bd1188734781b"},
    LastTemplate{"gemv", "826c32460c682dc19f77d83089df7424f99423ae689a30462101a4818d20bd44"},
};

struct Probe {
  std::string_view config, problem, plan_hash;
};
constexpr std::array kProbes = {
    Probe{"simt{block_m=128,block_n=32,block_k=8,thread_m=2,thread_n=4}",
          "f16f32 NN 2048 4096 4096", "64c8fe837d2039da2d3ca16583c0d84e"},
    Probe{"wmma{frag_m=8,frag_n=32,warps_m=2,warps_n=1,frags_m=4,frags_n=2,block_k=32,stages=3,frag_buffers=2,pad_bytes=16,"
          "copy_bytes=8,group_m=1,min_blocks=1,store_direct=0}",
          "f16f32 NT 128 4096 4096", "4d18d8064fd72acf5391af78d02fedcb"},
    Probe{"wmma{frag_m=16,frag_n=16,warps_m=1,warps_n=4,frags_m=4,frags_n=1,block_k=32,stages=4,frag_buffers=1,pad_bytes=16,"
          "copy_bytes=16,group_m=8,min_blocks=1,store_direct=0}",
          "f16f32 TN 1024 1024 1024", "06514f72d0a3098b6302b6a5802a3586"},
    Probe{"mma{inst_k=16,block_m=192,block_n=128,warp_m=64,warp_n=64,swap=0,block_k=64,stages=4,slice_k=1,frag_buffers=2,"
          "min_blocks=1,group_m=8,persistent=1,store_staged=1,split_k=1,reduction=0,copy_bytes=16,tma=1,pack=0,pack_k_major=0,"
          "overlap=0,early_launch=1}",
          "bf16f32 NT 8192 8192 8192", "8052571f35cb49e9b544bbe1992ee96f"},
    Probe{"mma{inst_k=16,block_m=16,block_n=64,warp_m=16,warp_n=32,swap=0,block_k=64,stages=6,slice_k=1,frag_buffers=2,"
          "min_blocks=2,group_m=1,persistent=0,store_staged=0,split_k=4,reduction=1,copy_bytes=16,tma=1,pack=0,pack_k_major=0,"
          "overlap=1,early_launch=1}",
          "f16f32 NN 8192 8192 8192", "59a1e1399b2ceae0b27e89212f0472d3"},
    Probe{"mma{inst_k=8,block_m=128,block_n=128,warp_m=64,warp_n=32,swap=0,block_k=16,stages=4,slice_k=1,frag_buffers=2,"
          "min_blocks=1,group_m=1,persistent=0,store_staged=0,split_k=32,reduction=2,copy_bytes=16,tma=0,pack=0,pack_k_major=0,"
          "overlap=1,early_launch=0}",
          "f64f64 NT 256 256 65536", "4c8ccd5054b3bd06d5f38190cf62f26b"},
    Probe{"wgmma{block_m=128,block_n=176,block_k=64,stages=4,warpgroups=2,schedule=2,even=1,stagger=0,cluster_m=1,cluster_n=1,"
          "min_blocks=1,group_m=16,store_staged=0,store_tma=0,swap=0,split_k=1,reduction=0,pack=0,early_launch=0}",
          "f16f32 TT 4096 4096 4096", "96e6f78850e97d3453d1f27974adba46"},
    Probe{"wgmma{block_m=64,block_n=128,block_k=64,stages=8,warpgroups=1,schedule=0,even=0,stagger=0,cluster_m=1,cluster_n=1,"
          "min_blocks=1,group_m=1,store_staged=0,store_tma=0,swap=0,split_k=16,reduction=0,pack=0,early_launch=0}",
          "bf16f32 NT 256 256 65536", "9cf4bc8bbba5a50801e5f93ce5e1a7cc"},
    Probe{"wgmma{block_m=256,block_n=128,block_k=128,stages=4,warpgroups=2,schedule=1,even=1,stagger=4,cluster_m=1,cluster_n=2,"
          "min_blocks=1,group_m=1,store_staged=0,store_tma=0,swap=1,split_k=1,reduction=0,pack=1,early_launch=1}",
          "e5m2f32bf16 TN 4096 4096 4096", "f66c147f5e4e3f9834e134f7de2fa96f"},
    Probe{"gemv{matrix=1,shifted=0,threads=512,lanes=16,rows=1,unroll=8,split_k=1,cluster=0,prefetch_bytes=0,overlap=0,"
          "early_launch=1}",
          "f64f64 NN 1 4096 4096", "8547955773aadb05cda3a84e2827187b"},
    Probe{"gemv{matrix=1,shifted=0,threads=512,lanes=16,rows=1,unroll=4,split_k=8,cluster=0,prefetch_bytes=0,overlap=1,"
          "early_launch=0}",
          "f64f64 TT 1 4096 4096", "a2b390ccb7c859668c1bf8b93d0b7888"},
};

/// Whether all that is probed of a family comes out as it did.
bool is_as_it_was(std::string_view family) {
  static const std::map<std::string_view, bool> known = [] {
    std::map<std::string_view, bool> all;
    for (const LastTemplate& last : kLastTemplates) all[last.family] = true;
    for (const Probe& probe : kProbes) {
      std::string error;
      const auto config = Config::parse(probe.config);
      const auto problem = parse_problem(probe.problem, error);
      const bool same = config && problem && plan_hash(*config, *problem, kOptions) == probe.plan_hash;
      if (!same) all[probe.config.substr(0, probe.config.find('{'))] = false;
    }
    return all;
  }();
  const auto found = known.find(family);
  return found != known.end() && found->second;
}

/// `today`, if the template was the family's last and is as it was.
std::string carried(const std::string& family, std::string_view template_hash, std::string today) {
  const auto last = std::ranges::find(kLastTemplates, family, &LastTemplate::family);
  const bool holds = last != kLastTemplates.end() && last->template_hash == template_hash && is_as_it_was(family);
  return holds && !today.empty() ? today : std::string(template_hash.substr(0, kDigits));
}

std::string_view argument(sqlite3_value* value) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return text == nullptr ? std::string_view() : std::string_view(text, std::size_t(sqlite3_value_bytes(value)));
}

void give(sqlite3_context* context, const std::string& text) {
  sqlite3_result_text(context, text.data(), int(text.size()), SQLITE_TRANSIENT);
}

void plan_in_sql(sqlite3_context* context, int, sqlite3_value** values) {
  const std::string_view template_hash = argument(values[2]);
  std::string error;
  const auto config = Config::parse(argument(values[0]));
  const auto problem = parse_problem(argument(values[1]), error);
  give(context, config && problem ? carried_plan_hash(*config, *problem, template_hash, argument(values[3]))
                                  : std::string(template_hash.substr(0, kDigits)));
}

void kernel_in_sql(sqlite3_context* context, int, sqlite3_value** values) {
  const std::string_view template_hash = argument(values[3]);
  const auto config = Config::parse(argument(values[0]));
  const TypePair* type = find_type_pair(argument(values[1]));
  const auto trans = parse_transposes(argument(values[2]));
  give(context, config && type != nullptr && trans ? carried_kernel_hash(*config, {*type, *trans}, template_hash, argument(values[4]))
                                                   : std::string(template_hash.substr(0, kDigits)));
}

/// Tables of schema.sql as a connection's own, empty ones.
std::string as_temporary(std::string_view tables) {
  std::string sql(tables);
  const std::size_t index = sql.find("CREATE INDEX");
  sql.erase(index, sql.find(';', index) + 1 - index);
  constexpr std::string_view kCreate = "CREATE TABLE", kCreateOwn = "CREATE TEMP TABLE";
  for (std::size_t at = 0; (at = sql.find(kCreate, at)) != std::string::npos; at += kCreateOwn.size()) sql.replace(at, kCreate.size(), kCreateOwn);
  return sql;
}

constexpr std::string_view kEvidenceOfTemplates =
    "id, problem_id, config_id, device_id, producer_id, status, message, median_us, spread, samples, clock_mhz, temperature_c, power_w, "
    "drift, run, origin, created_at, "
    "carried_plan_hash((SELECT text FROM main.configs WHERE id = config_id), (SELECT text FROM main.problems WHERE id = problem_id), "
    "(SELECT template_hash FROM main.producers WHERE id = producer_id), "
    "(SELECT compiler_options FROM main.producers WHERE id = producer_id)) AS plan_hash";
constexpr std::string_view kKernelsOfTemplates =
    "id, config_id, type || ' ' || trans AS signature, arch, carried_kernel_hash((SELECT text FROM main.configs WHERE id = config_id), type, trans, "
    "template_hash, compiler_options) AS kernel_hash, compiler_options, nvrtc_version";
constexpr std::string_view kKernelsOfTwoWords =
    "id, config_id, type || ' ' || trans AS signature, arch, kernel_hash, compiler_options, nvrtc_version";

}  // namespace

std::string carried_plan_hash(const Config& config, const Problem& problem, std::string_view template_hash, std::string_view options) {
  return carried(config.family(), template_hash, plan_hash(config, problem, options));
}

std::string carried_kernel_hash(const Config& config, const KernelSignature& signature, std::string_view template_hash,
                                std::string_view options) {
  return carried(config.family(), template_hash, kernel_hash(config, signature, options));
}

// By the words of those versions. A launch that the driver refuses ("launch failed with driver error 2") is the kernel's own doing.
const std::string_view kFailedByMachine =
    "(status = 'launch_failed' AND message GLOB '*: CUDA_ERROR_OUT_OF_MEMORY (*' "
    "OR status IN ('compile_failed', 'device_fault') AND (message GLOB '*ended: killed by signal 9 (*' "
    "OR message GLOB '*ended: killed by signal 15 (*' OR message GLOB '*NVRTC_ERROR_OUT_OF_MEMORY*'))";

void add_carrying_functions(const Database& database) {
  constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
  const auto add = [&](const char* name, int arguments, void (*function)(sqlite3_context*, int, sqlite3_value**)) {
    if (sqlite3_create_function(database.handle(), name, arguments, kFlags, nullptr, function, nullptr, nullptr) != SQLITE_OK)
      database.fail("adding a function");
  };
  add("carried_plan_hash", 4, &plan_in_sql);
  add("carried_kernel_hash", 5, &kernel_in_sql);
}

void read_as_of_today(const Database& database, int version) {
  add_carrying_functions(database);
  // What stands in a connection's own schema comes before what the file holds, and a file opened for reading may have it.
  database.execute("PRAGMA temp_store = MEMORY; PRAGMA query_only = 0");
  const auto show = [&](std::string_view table, std::string_view columns, std::string_view rows) {
    database.execute(fmt::format("CREATE TEMP VIEW {0} AS SELECT {1} FROM main.{0} WHERE {2}", table, columns, rows));
  };
  if (version < 6) {
    const std::string of_candidates = "NOT " + std::string(kFailedByMachine);
    show("builds", "*", of_candidates);
    show("proofs", "*", of_candidates);
    show("evidence", version >= 5 ? "*" : kEvidenceOfTemplates, of_candidates);
  }
  if (version < 7) show("kernels", version < 5 ? kKernelsOfTemplates : kKernelsOfTwoWords, "true");
  if (version < 8) database.execute(as_temporary(vendor_tables_sql()));
  database.execute("PRAGMA query_only = 1");
}

}  // namespace tilesmith::db
