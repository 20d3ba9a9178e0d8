"""Starts `vllm serve` on a virtual card, waits for /health, sends one request over HTTP, and ends it by ^C.

usage: http_request.py HEADROOM VLLM CARD CONFIG [flags of vllm serve]
VLLM: the program `vllm`; CONFIG: a config.json. Prints the answer's tokens, the seconds until /health and of the request, and
the report of the dry run. Exit codes: 0, 1 the server or the request failed, 2 usage.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

MOST_SECONDS = 1500
ANSWER = 8


def ask(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=MOST_SECONDS) as response:
        return response.read()


def wait_for_health(url, server):
    end = time.monotonic() + MOST_SECONDS
    while server.poll() is None and time.monotonic() < end:
        try:
            ask(url + "/health")
            return True
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    return False


def main():
    if len(sys.argv) < 5:
        print(__doc__, file=sys.stderr)
        return 2
    headroom, vllm, card, config = sys.argv[1:5]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(config, os.path.join(folder, "config.json"))
        began = time.monotonic()
        server = subprocess.Popen([headroom, "dryrun", "--card", card, "--skip-host-init", "--", vllm, "serve", folder,
                                   "--load-format", "dummy", "--skip-tokenizer-init", "--shutdown-timeout", "60",
                                   "--host", "127.0.0.1", "--port", str(port),
                                   *sys.argv[5:]], env={**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"},
                                  start_new_session=True)
        try:
            if not wait_for_health(url, server):
                return 1
            ready = time.monotonic()
            answer = json.loads(ask(url + "/inference/v1/generate", {
                "token_ids": [1] * 64, "sampling_params": {"max_tokens": ANSWER, "ignore_eos": True, "detokenize": False}}))
            tokens = answer["choices"][0]["token_ids"]
            print(f"tokens of the answer: {len(tokens)}; /health after {ready - began:.0f} s, the request took "
                  f"{time.monotonic() - ready:.1f} s", flush=True)
            return 0 if len(tokens) == ANSWER else 1
        finally:
            os.killpg(server.pid, signal.SIGINT)
            server.wait()


if __name__ == "__main__":
    sys.exit(main())
