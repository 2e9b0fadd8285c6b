#!/bin/sh
# A program that Belfry runs, here every morning: belfry run-on-schedule examples/folder-size.sh --daily 06:00 --arg /usr/lib
# Everything it writes is in the log of the run. Its last line is the output of the run.
set -eu

folder=${1:-/usr/lib}
if [ ! -d "$folder" ]; then
  echo "there is no folder $folder in the sandbox" >&2
  exit 2
fi

echo "run $BELFRY_RUN_ID, attempt $BELFRY_ATTEMPT, due at $BELFRY_SCHEDULED_FOR"
files=$(find "$folder" -type f | wc -l)
bytes=$(find "$folder" -type f -exec cat {} + | wc -c)
echo "::output {\"files\": $files, \"bytes\": $bytes}"
