"""A headless Chromium, driven through its debugging port with nothing but Python's own library."""
import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time


def find():
    """The path of a Chromium, or None."""
    names = [os.environ.get('CHROMIUM'), 'chromium', 'chromium-browser', 'google-chrome']
    return next((path for path in map(shutil.which, filter(None, names)) if path), None)


class Browser:
    """One window of @width by @height. What its page logs or throws is in `said`."""

    def __init__(self, path, width=1400, height=1000, dark=False):
        self.profile = tempfile.mkdtemp(prefix='page-')
        self.said = []
        self.asked = []  # addresses
        self.number = 0
        self.process = subprocess.Popen(
            [path, '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars',
             '--disable-background-networking', '--no-first-run', '--remote-debugging-port=0',
             f'--user-data-dir={self.profile}', f'--window-size={width},{height}', 'about:blank'],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self._connect(width, height, dark)
        except Exception:
            self.close()
            raise

    def _connect(self, width, height, dark):
        place = os.path.join(self.profile, 'DevToolsActivePort')
        until = time.monotonic() + 60
        while not (os.path.exists(place) and open(place).read().count('\n') >= 1):
            if time.monotonic() > until or self.process.poll() is not None:
                raise RuntimeError('Chromium does not start')
            time.sleep(0.05)
        port, address = open(place).read().split('\n')[:2]
        self._open(int(port), address)
        target = next(t for t in self.call('Target.getTargets')['targetInfos'] if t['type'] == 'page')
        self.session = self.call('Target.attachToTarget', targetId=target['targetId'], flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(domain + '.enable')
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call('Emulation.setEmulatedMedia',
                  features=[{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])

    def _open(self, port, address):
        self.session = None
        self.buffer = b''
        self.socket = socket.create_connection(('127.0.0.1', port), timeout=120)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f'GET {address} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
                             f'Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n').encode())
        while b'\r\n\r\n' not in self.buffer:
            self._receive()
        self.buffer = self.buffer.split(b'\r\n\r\n', 1)[1]

    def _receive(self):
        part = self.socket.recv(1 << 16)
        if not part:
            raise RuntimeError('Chromium has gone')
        self.buffer += part

    def _take(self, n):
        while len(self.buffer) < n:
            self._receive()
        part, self.buffer = self.buffer[:n], self.buffer[n:]
        return part

    def _send(self, text):
        data = text.encode()
        mask = os.urandom(4)
        head = b'\x81' + (struct.pack('!B', 0x80 | len(data)) if len(data) < 126 else
                          struct.pack('!BH', 0x80 | 126, len(data)) if len(data) < 65536 else
                          struct.pack('!BQ', 0x80 | 127, len(data)))
        self.socket.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def _message(self):
        """The next whole message: a text, maybe in several frames."""
        text = b''
        while True:
            first, length = self._take(2)
            length &= 0x7f
            if length == 126:
                length, = struct.unpack('!H', self._take(2))
            elif length == 127:
                length, = struct.unpack('!Q', self._take(8))
            part = self._take(length)
            if first & 0x0f in (0, 1):
                text += part
                if first & 0x80:
                    return json.loads(text)

    def _note(self, event):
        kind, what = event.get('method', ''), event.get('params', {})
        if kind == 'Runtime.exceptionThrown':
            details = what['exceptionDetails']
            self.said.append(details.get('exception', {}).get('description', details['text']))
        elif kind == 'Runtime.consoleAPICalled':
            self.said.append(' '.join(str(arg.get('value', arg.get('description'))) for arg in what['args']))
        elif kind == 'Log.entryAdded':
            self.said.append(what['entry']['text'])
        elif kind == 'Network.requestWillBeSent':
            self.asked.append(what['request']['url'])
        elif kind == 'Page.loadEventFired':
            self.loaded = True

    def call(self, method, **parameters):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': parameters}
        if self.session:
            message['sessionId'] = self.session
        self._send(json.dumps(message))
        while True:
            answer = self._message()
            if answer.get('id') != self.number:
                self._note(answer)
            elif 'error' in answer:
                raise RuntimeError(f'{method}: {answer["error"]["message"]}')
            else:
                return answer['result']

    def open(self, path):
        """Opens a file, at once drawn; @path may have a fragment."""
        # Between two pages, as another fragment alone is no other page.
        file, mark, fragment = path.partition('#')
        for address in ('about:blank', 'file://' + os.path.abspath(file) + mark + fragment):
            self.loaded = False
            self.call('Page.navigate', url=address)
            while not self.loaded:
                self._note(self._message())
        self.settle()

    def run(self, script):
        """The value of an expression in the page, which may be a promise."""
        answer = self.call('Runtime.evaluate', expression=script, awaitPromise=True, returnByValue=True)
        if 'exceptionDetails' in answer:
            raise RuntimeError(answer['exceptionDetails'].get('exception', {}).get('description', 'exception'))
        return answer['result'].get('value')

    def settle(self):
        """Until what was asked to be drawn is drawn."""
        self.run('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))')

    def mouse(self, kind, x, y, **more):
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse('mouseMoved', x, y)
        self.mouse('mousePressed', x, y, button='left', clickCount=1)
        self.mouse('mouseReleased', x, y, button='left', clickCount=1)
        self.settle()

    def key(self, key, text=''):
        self.call('Input.dispatchKeyEvent', type='keyDown', key=key, text=text)
        self.call('Input.dispatchKeyEvent', type='keyUp', key=key)
        self.settle()

    def picture(self, path, whole=False, height=None):
        more = {}
        if whole:
            size = self.call('Page.getLayoutMetrics')['cssContentSize']
            more = {'captureBeyondViewport': True,
                    'clip': {'x': 0, 'y': 0, 'width': size['width'], 'height': height or size['height'], 'scale': 1}}
        with open(path, 'wb') as file:
            file.write(base64.b64decode(self.call('Page.captureScreenshot', format='png', **more)['data']))

    def print(self, path):
        with open(path, 'wb') as file:
            file.write(base64.b64decode(self.call('Page.printToPDF', printBackground=True, preferCSSPageSize=True)['data']))

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)
