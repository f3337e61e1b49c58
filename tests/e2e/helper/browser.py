#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""browser.py PROFILE: opens pages in headless Chromium, as a reader would.

Reads commands from standard input, one a line.  The first three print a line;
when one fails, a last line starts with "browser:".

    open FILE          waits until the page says that it is ready, or failed
    eval EXPRESSION    its value; a promise is waited for
    refused            what the page wanted to load, and errors in it
    size WIDTH HEIGHT  of the window
    media NAME VALUE   a media feature, as prefers-color-scheme dark; or print
    until EXPRESSION   waits until it is true
    key NAME           as the keyboard sends it: ArrowDown, Tab, Shift+Tab, a
    type TEXT          character by character
    click SELECTOR     in the middle of the first such element
    shot FILE          a picture of the window, PNG
    print FILE         the page on A4 paper, PDF

The browser is talked to through a pipe (Chrome DevTools Protocol), so that no
port is needed.  Exit status 77: there is no Chromium.
"""
import base64
import json
import os
import shutil
import subprocess
import sys
import urllib.parse

TIMEOUT = 240  # for one command, on a machine however busy


class Browser:
    def __init__(self, program, profile):
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        command = [program, "--headless=new", "--remote-debugging-pipe",
                   "--user-data-dir=" + profile, "--no-first-run",
                   "--disable-gpu", "--disable-extensions",
                   "--disable-background-networking",
                   "--disable-component-update", "--hide-scrollbars",
                   "--disable-dev-shm-usage"]
        if os.geteuid() == 0:
            command.append("--no-sandbox")

        def pipes():
            # Above 4 first: one of ours may be 3 or 4.
            first, second = os.dup2(theirs_in, 20), os.dup2(theirs_out, 21)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self.process = subprocess.Popen(
            command, preexec_fn=pipes, close_fds=True,
            pass_fds=(3, 4, theirs_in, theirs_out),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.input = os.fdopen(ours_in, "rb", buffering=0)
        self.output = os.fdopen(ours_out, "wb", buffering=0)
        self.pending = b""
        self.number = 0
        self.session = None
        self.refused = []
        self.media = {}
        target = self.call("Target.createTarget", url="about:blank")
        self.session = self.call("Target.attachToTarget", flatten=True,
                                 targetId=target["targetId"])["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        self.size("1280", "900")

    # ---- the protocol ----

    def receive(self):
        while b"\0" not in self.pending:
            data = self.input.read(1 << 20)
            if not data:
                raise RuntimeError("the browser ended")
            self.pending += data
        message, self.pending = self.pending.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.output.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(answer["error"]["message"])
                return answer["result"]
            self.note(answer)

    def note(self, event):
        params = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith("file:") and url != "about:blank" \
                    and not url.startswith("blob:"):
                self.refused.append(url[:80])
        elif event.get("method") == "Runtime.exceptionThrown":
            self.refused.append(params["exceptionDetails"]["text"])
        elif event.get("method") == "Log.entryAdded" and \
                params["entry"]["level"] == "error":
            self.refused.append(params["entry"]["text"])

    # ---- commands ----

    def open(self, path):
        self.refused = []
        self.call("Page.navigate", url="file://" +
                  urllib.parse.quote(os.path.abspath(path)))
        self.until("document.documentElement?.dataset.state")
        return self.eval("document.documentElement.dataset.state")

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=int(width),
                  height=int(height), deviceScaleFactor=1, mobile=False)

    def emulate(self, name, value=""):
        if name == "print" or name == "screen":
            self.call("Emulation.setEmulatedMedia",
                      media="print" if name == "print" else "")
            return
        self.media[name] = value
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": n, "value": v} for n, v in self.media.items()])

    def eval(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression,
                           returnByValue=True, awaitPromise=True,
                           userGesture=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get(
                "description", details["text"]))
        return answer["result"].get("value")

    # In the page: it is waited for there, a frame at a time.
    def until(self, expression):
        return self.eval(
            "new Promise((done, failed) => { const end = Date.now() + %d; "
            "const look = () => { const value = (%s); if (value) done(true); "
            "else if (Date.now() > end) failed(new Error('waited in vain')); "
            "else setTimeout(look, 10); }; look(); })"
            % (TIMEOUT * 1000, expression))

    def key(self, name):
        codes = {"Enter": 13, "Tab": 9, "Escape": 27, "Backspace": 8,
                 "Space": 32, "ArrowLeft": 37, "ArrowUp": 38,
                 "ArrowRight": 39, "ArrowDown": 40, "PageUp": 33,
                 "PageDown": 34, "End": 35, "Home": 36}
        shift = name.startswith("Shift+")
        name = name[6:] if shift else name
        # Only letters and digits have the code of the character: 46 is the
        # code of Delete.
        text = {"Enter": "\r", "Space": " "}.get(
            name, name if len(name) == 1 else "")
        letter = ord(name.upper()) if len(name) == 1 and name.isalnum() else 0
        params = {"key": " " if name == "Space" else name,
                  "code": "Space" if name == "Space" else name,
                  "modifiers": 8 if shift else 0,
                  "windowsVirtualKeyCode": codes.get(name, letter)}
        self.call("Input.dispatchKeyEvent",
                  type="keyDown" if text else "rawKeyDown",
                  **({"text": text} if text else {}), **params)
        self.call("Input.dispatchKeyEvent", type="keyUp", **params)

    def type(self, text):
        for character in text:
            self.key(character)

    def click(self, selector):
        place = self.eval(
            "(() => { const e = document.querySelector(%s); "
            "e.scrollIntoView({block: 'center'}); "
            "const r = e.getBoundingClientRect(); "
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
            % json.dumps(selector))
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0],
                      y=place[1], button="left", clickCount=1)

    def shot(self, path):
        picture = self.call("Page.captureScreenshot", format="png")
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))

    def print(self, path):
        paper = self.call("Page.printToPDF", printBackground=True,
                          paperWidth=8.27, paperHeight=11.69)
        with open(path, "wb") as file:
            file.write(base64.b64decode(paper["data"]))

    def run(self, line):
        word, _, rest = line.partition(" ")
        if word in ("open", "eval", "until", "key", "type", "click", "shot",
                    "print"):
            return getattr(self, word)(rest)
        if word == "size":
            return self.size(*rest.split())
        if word == "media":
            return self.emulate(*rest.split())
        if word == "refused":
            self.eval("0")  # what came before is noted
            return "; ".join(self.refused) or "nothing"
        raise RuntimeError("no command " + word)

    def close(self):
        self.session = None
        try:
            self.call("Browser.close")
        except (RuntimeError, OSError):
            pass
        self.process.wait()


def main():
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if not program:
        sys.exit(77)
    browser = Browser(program, sys.argv[1])
    try:
        for line in sys.stdin:
            value = browser.run(line.rstrip("\n"))
            if line.split(" ")[0].strip() not in ("open", "eval", "refused"):
                continue
            if isinstance(value, bool):
                value = str(value).lower()
            text = "" if value is None else \
                value if isinstance(value, str) else json.dumps(value)
            print(text.replace("\n", " "), flush=True)
    except (RuntimeError, OSError, KeyError, TypeError) as error:
        print("browser: " + str(error).replace("\n", " "), flush=True)
        sys.exit(1)
    finally:
        browser.close()


main()
