"""Drives a headless Chromium through its debugging pipe: no package beside the browser is needed."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

DEADLINE_SECONDS = 120  # a busy machine; nothing here waits that long on a quiet one


def find_chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One page. Messages of its console are in `console`, requests that left the page in `requests`."""

    def __init__(self):
        self.folder = tempfile.mkdtemp()
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()

        def give_pipes():  # Chromium reads descriptor 3 and writes descriptor 4
            high = [os.dup(to_browser), os.dup(from_browser)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [find_chromium(), "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--disable-background-networking", "--proxy-server=127.0.0.1:9", f"--user-data-dir={self.folder}",
             "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=give_pipes)
        os.close(to_browser)
        os.close(from_browser)
        self.rest, self.number, self.console, self.requests = b"", 0, [], []
        self.session = None
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        shutil.rmtree(self.folder, ignore_errors=True)

    def receive(self, deadline):
        while b"\0" not in self.rest:
            if not select.select([self.read_end], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            more = os.read(self.read_end, 1 << 20)
            if not more:
                raise RuntimeError("the browser ended")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def note(self, message):
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.console.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.console.append(str(parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.console.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + DEADLINE_SECONDS
        while True:
            answer = self.receive(deadline)
            if answer.get("id") != self.number:
                self.note(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                return answer["result"]

    def open(self, path, width=1280, height=900, dark=False):
        """Opens a file, and returns once its scripts are ready."""
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url="about:blank")
        self.console, self.requests = [], []
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        self.wait("document.documentElement?.dataset.ready === 'yes'")

    def value(self, expression):
        """Of a JavaScript expression, or of the promise that it makes."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description", str(result)))
        return result["result"].get("value")

    def wait(self, condition):
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not self.value(condition):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{condition} stays false; console: {self.console}")
            time.sleep(0.02)

    def mouse(self, *steps):
        """Each step is (kind, x, y): "press", "move" or "release", in pixels of the page's window."""
        kinds = {"press": "mousePressed", "move": "mouseMoved", "release": "mouseReleased"}
        for kind, x, y in steps:
            self.call("Input.dispatchMouseEvent", type=kinds[kind], x=x, y=y, button="left",
                      buttons=0 if kind == "release" else 1, clickCount=1)

    def screenshot(self, path, most=8000):
        """Of the page, down to `most` pixels, as WebP."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], most), "scale": 1}
        data = self.call("Page.captureScreenshot", format="webp", quality=80, captureBeyondViewport=True, clip=clip)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
