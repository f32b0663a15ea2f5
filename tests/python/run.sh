#!/usr/bin/env bash
# Runs a file of the Python tests with the first Python that has pytest, PyTorch preferred where the file wants it.
#
# Usage: run.sh FILE LIBRARY   (LIBRARY: libtilesmith.so as it was built)
set -euo pipefail
file=$1
library=$2

# Whether a Python has all of these modules. PyTorch takes seconds to import, so it is only looked for.
has_modules() { "$1" -c 'import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1].split())))' "$2" >/dev/null 2>&1; }

wanted=pytest
case $(basename "$file") in
  test_torch_gguf.py) wanted="pytest torch gguf" ;;
  test_torch*.py | test_gpu*.py) wanted="pytest torch" ;;
  test_layouts.py | test_tune_kernel.py) wanted="pytest numpy" ;;
esac
python=""
for candidate in python3 /usr/bin/python3; do
  if [ -z "$python" ] && has_modules "$candidate" "$wanted"; then python=$candidate; fi
done
if [ -z "$python" ]; then
  echo "skipped, there is no Python with ${wanted// / and }"
  exit 0
fi
export TILESMITH_REAL_LIBRARY=$library PYTHONDONTWRITEBYTECODE=1 TILESMITH_CACHE=${TILESMITH_CACHE:-off}
case $(basename "$file") in
  test_gpu*.py)
    "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' || { echo "skipped, there is no GPU: $(basename "$file")"; exit 0; }
    exec env TILESMITH_LIBRARY="$library" "$python" -m pytest -q -p no:cacheprovider -m gpu "$file"
    ;;
  test_wheel.py)
    [ -n "${TILESMITH_WHEEL:-}" ] || { echo "skipped, there is no wheel in TILESMITH_WHEEL: scripts/wheel.sh builds and tries one"; exit 0; }
    exec "$python" -m pytest -q -p no:cacheprovider "$file"
    ;;
  *) exec "$python" -m pytest -q -p no:cacheprovider "$file" ;;
esac
