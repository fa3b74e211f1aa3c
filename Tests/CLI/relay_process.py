"""A relay of its own on a free port, which can be killed and started again."""
import signal
import subprocess

from nodes import check


class Relay:
    def __init__(self, program, data):
        self.program = program
        self.data = data
        self.port = "0"
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [self.program, "serve", "--listen", "127.0.0.1:" + self.port, "--health", "off",
             "--data", self.data], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address = self.process.stdout.readline().strip()
        check(self.address.startswith("hearth-relay://127.0.0.1:"), "address: " + self.address)
        self.port = self.address.split(":")[2].split("/")[0]

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()
