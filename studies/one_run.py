"""One run of the program that prints its Record as JSON."""

import json
import shlex
import subprocess
import sys


def record_of_run(command):
    """The Record of a run that ended well. Where it did not, the script ends and says how."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    record = json.loads(done.stdout) if done.stdout else {"status": done.stderr}
    if record["status"] != "ok":
        sys.exit(f"{shlex.join(command)}\n{record['status']}: {record.get('reason')}")
    return record
