-- The whole schema. A change here needs a new user_version (here and in schema.hpp); schema.cpp says where a step from the version before
-- goes.
--
--   records ──> problems, configs, devices, environments      what became of a candidate
--   builds   ──> kernels ──> configs;  builds ──> cubins    what the compiler made of a kernel
--   proofs   ──> kernels, devices                           the correctness suite's verdict on a kernel
--   runs                                                    tuning runs; records name its run by uuid
--   vendor_beside ──> vendor_times ──> problems, devices    what the vendor's library took, and which entries were timed beside it
--
-- What is best is no view: it depends on the program's kernels, launches and rules (ranked.hpp). `query --sql` offers it as the table `best`.
--
-- Times are ISO 8601 UTC with milliseconds. They are to be shown: a machine's clock may be wrong, so that the order of rows is that of
-- their ids, the order in which this file got them. Of a merge, entries keep the order of their source.

PRAGMA application_id = 1414743885;  -- 'TSGM'
PRAGMA user_version = 1;

CREATE TABLE devices (
  id                   INTEGER PRIMARY KEY,
  key                  TEXT NOT NULL UNIQUE,  -- canonical text of all the columns below
  name                 TEXT NOT NULL,
  sm                   INTEGER NOT NULL,      -- 10 * major + minor
  sm_count             INTEGER NOT NULL,      -- live multiprocessors
  l2_bytes             INTEGER NOT NULL,
  smem_per_sm_bytes    INTEGER NOT NULL,
  bandwidth_class_gbps INTEGER NOT NULL,      -- 0: unknown
  power_mode           TEXT NOT NULL          -- empty where there are none
) STRICT;

-- A row is a task: a problem, or a kernel of a user's own at given sizes. Of such a kernel `type` is 'kernel', and the columns behind
-- it are 0 or empty.
CREATE TABLE problems (
  id          INTEGER PRIMARY KEY,
  text        TEXT NOT NULL UNIQUE,  -- canonical; the columns below repeat it for queries
  type        TEXT NOT NULL,
  trans       TEXT NOT NULL,
  m           INTEGER NOT NULL,
  n           INTEGER NOT NULL,
  k           INTEGER NOT NULL,
  lda         INTEGER NOT NULL,
  ldb         INTEGER NOT NULL,
  ldc         INTEGER NOT NULL,
  align_bytes INTEGER NOT NULL,
  beta        TEXT NOT NULL,
  batch       INTEGER NOT NULL,
  epilogue    TEXT NOT NULL
) STRICT;

CREATE TABLE configs (
  id     INTEGER PRIMARY KEY,
  text   TEXT NOT NULL UNIQUE,  -- canonical
  family TEXT NOT NULL,
  params TEXT NOT NULL          -- JSON object by name: json_extract(params, '$.frag_m')
) STRICT;

CREATE TABLE environments (
  id               INTEGER PRIMARY KEY,
  compiler_options TEXT NOT NULL,
  nvrtc_version    TEXT NOT NULL,
  driver_version   TEXT NOT NULL,
  measuring_policy TEXT NOT NULL,
  UNIQUE (compiler_options, nvrtc_version, driver_version, measuring_policy)
) STRICT;

CREATE TABLE runs (
  id         INTEGER PRIMARY KEY,
  uuid       TEXT NOT NULL UNIQUE,
  command    TEXT NOT NULL,
  workload   TEXT NOT NULL,
  strategy   TEXT NOT NULL,
  seed       TEXT NOT NULL,  -- decimal; 64 bits unsigned do not fit an INTEGER
  host       TEXT NOT NULL,
  started_at TEXT NOT NULL,
  ended_at   TEXT NOT NULL,  -- empty while running, or if it was killed
  ended_how  TEXT NOT NULL
) STRICT;

-- One kernel: what is compiled, and everything that changes the binary.
CREATE TABLE kernels (
  id               INTEGER PRIMARY KEY,
  config_id        INTEGER NOT NULL REFERENCES configs (id),
  signature        TEXT NOT NULL,  -- signature.hpp
  arch             TEXT NOT NULL,
  kernel_hash      TEXT NOT NULL,  -- of what NVRTC gets (plan_hash.hpp)
  compiler_options TEXT NOT NULL,
  nvrtc_version    TEXT NOT NULL,
  UNIQUE (config_id, signature, arch, kernel_hash, compiler_options, nvrtc_version)
) STRICT;

CREATE TABLE cubins (
  hash  TEXT NOT NULL PRIMARY KEY,  -- XXH3-128 of the uncompressed bytes, hex
  bytes INTEGER NOT NULL,           -- uncompressed
  data  BLOB NOT NULL               -- one zstd frame
) STRICT;

CREATE TABLE builds (
  kernel_id         INTEGER PRIMARY KEY REFERENCES kernels (id),
  status            TEXT NOT NULL CHECK (status IN ('ok', 'compile_failed', 'spilled')),
  message           TEXT NOT NULL,
  registers         INTEGER NOT NULL,
  spill_bytes       INTEGER NOT NULL,
  static_smem_bytes INTEGER NOT NULL,
  cubin_hash        TEXT REFERENCES cubins (hash),
  created_at        TEXT NOT NULL
) STRICT;
CREATE INDEX builds_by_cubin ON builds (cubin_hash);

CREATE TABLE proofs (
  kernel_id      INTEGER NOT NULL REFERENCES kernels (id),
  device_id      INTEGER NOT NULL REFERENCES devices (id),
  driver_version TEXT NOT NULL,
  suite          TEXT NOT NULL,  -- version of the correctness suite
  status         TEXT NOT NULL,
  message        TEXT NOT NULL,
  created_at     TEXT NOT NULL,
  PRIMARY KEY (kernel_id, device_id, driver_version, suite)
) STRICT, WITHOUT ROWID;

CREATE TABLE records (
  id             INTEGER PRIMARY KEY,
  problem_id     INTEGER NOT NULL REFERENCES problems (id),
  config_id      INTEGER NOT NULL REFERENCES configs (id),
  device_id      INTEGER NOT NULL REFERENCES devices (id),
  environment_id INTEGER NOT NULL REFERENCES environments (id),
  status         TEXT NOT NULL CHECK (status IN ('ok', 'illegal', 'compile_failed', 'spilled', 'launch_failed',
                                                 'timed_out', 'device_fault', 'mismatch')),
  message        TEXT NOT NULL,
  median_us      REAL,  -- this and the next six: present exactly when the status is ok
  spread         REAL,  -- half the interquartile range over the median, of a play-off's samples once freed of shared drift
  samples        INTEGER,
  clock_mhz      REAL,  -- 0: unknown, as the next two
  temperature_c  REAL,
  power_w        REAL,
  drift          REAL,
  run            TEXT NOT NULL,  -- uuid; may name a run that this file does not know
  origin         TEXT NOT NULL,
  created_at     TEXT NOT NULL,
  plan_hash      TEXT NOT NULL,  -- of the kernel and the launches that ran (plan_hash.hpp); empty: the config had none
  CHECK ((status = 'ok') = (median_us IS NOT NULL)),
  CHECK (median_us IS NULL OR (median_us > 0 AND median_us < 1e300))
) STRICT;
CREATE INDEX records_by_candidate ON records (problem_id, device_id, config_id);  -- and id, as every index
CREATE INDEX records_by_time ON records (created_at);
CREATE INDEX records_by_run ON records (run);

-- The vendor's library on a problem, timed in turn with entries of ours in a final benchmark (vendor_times.hpp).
CREATE TABLE vendor_times (
  id               INTEGER PRIMARY KEY,
  problem_id       INTEGER NOT NULL REFERENCES problems (id),
  device_id        INTEGER NOT NULL REFERENCES devices (id),
  vendor           TEXT NOT NULL,     -- 'cublaslt'
  vendor_version   TEXT NOT NULL,
  driver_version   TEXT NOT NULL,
  measuring_policy TEXT NOT NULL,
  message          TEXT NOT NULL,     -- why there is no time; else what disturbed it
  offered          INTEGER NOT NULL,  -- algorithms of its heuristic
  timed            INTEGER NOT NULL,  -- of these
  first_us         REAL,              -- its own first choice; NULL: no time
  first_spread     REAL,
  first_algorithm  TEXT NOT NULL,
  best_us          REAL,              -- the fastest that was timed
  best_spread      REAL,
  best_algorithm   TEXT NOT NULL,
  samples          INTEGER NOT NULL,
  clock_mhz        REAL NOT NULL,     -- 0: unknown, as the next two
  temperature_c    REAL NOT NULL,
  power_w          REAL NOT NULL,
  drift            REAL NOT NULL,
  run              TEXT NOT NULL,
  origin           TEXT NOT NULL,
  created_at       TEXT NOT NULL,
  CHECK (first_us IS NULL OR (first_us > 0 AND first_us < 1e300)),
  CHECK (best_us IS NULL OR (best_us > 0 AND best_us < 1e300))
) STRICT;
CREATE INDEX vendor_times_by_problem ON vendor_times (problem_id, device_id);

-- The entries that it may be compared with: config_id, plan_hash and median_us are those of the entry.
CREATE TABLE vendor_beside (
  vendor_id INTEGER NOT NULL REFERENCES vendor_times (id),
  config_id INTEGER NOT NULL REFERENCES configs (id),
  plan_hash TEXT NOT NULL,
  median_us REAL NOT NULL,
  PRIMARY KEY (vendor_id, config_id)
) STRICT, WITHOUT ROWID;

-- The entry that counts of each candidate on each device: the one recorded last. So a later failure supersedes a former time, and
-- an entry of a changed plan supersedes that of the former.
CREATE VIEW latest AS
SELECT * FROM records AS entry
WHERE entry.id = (
  SELECT newer.id FROM records AS newer
  WHERE newer.problem_id = entry.problem_id AND newer.device_id = entry.device_id AND newer.config_id = entry.config_id
  ORDER BY newer.id DESC LIMIT 1);
