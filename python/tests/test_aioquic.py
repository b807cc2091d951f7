"""Arms in aioquic, over an emulated link in virtual time: two connections in this process, and no socket."""

from __future__ import annotations

import asyncio
import datetime
import heapq
import ipaddress
from collections.abc import Callable
from pathlib import Path

import pytest
from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol, QuicStreamHandler
from aioquic.asyncio.server import serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import StreamDataReceived
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import firstflight as ff
import firstflight.aioquic

SIZE = 5_000_000
# The size of the simulator's packets: 1500 bytes with the headers of IPv4 and UDP.
DATAGRAM = 1472
HEADERS = 28
CLIENT, SERVER = ("192.0.2.1", 1111), ("192.0.2.2", 4433)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("certificate")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("192.0.2.2"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = serialization.PrivateFormat.TraditionalOpenSSL
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, private, serialization.NoEncryption()))
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return folder / "cert.pem", folder / "key.pem"


class Link:
    """One direction: a drop-tail queue in bytes, a rate and a delay."""

    def __init__(self, mbit: float, delay: float, queue: float) -> None:
        self.rate, self.delay, self.queue = mbit * 125_000, delay, queue
        self.free_at = 0.0
        self.offered = self.dropped = 0

    def arrival(self, now: float, size: int) -> float | None:
        """When a datagram arrives; `None` if the queue has no room for it."""
        self.offered += 1
        start = max(now, self.free_at)
        if (start - now) * self.rate + size > self.queue:
            self.dropped += 1
            return None
        self.free_at = start + size / self.rate
        return self.free_at + self.delay


class Download:
    """A client asks a server for SIZE bytes. `seconds` is counted from the server's first packet with data to the last byte in order."""

    def __init__(
        self, certificate: tuple[Path, Path], path: ff.Path, algorithm: str, setup: Callable[[QuicConnection], object] | None = None
    ) -> None:
        one_way = path.rtt_ms / 2000
        assert path.queue_bytes is not None
        self.down = Link(path.rate_mbps, one_way, path.queue_bytes)
        up = Link(10_000, one_way, 1e9)
        client_side = QuicConfiguration(is_client=True, verify_mode=0, max_data=1 << 30, max_stream_data=1 << 30)
        server_side = QuicConfiguration(is_client=False, congestion_control_algorithm=algorithm, max_datagram_size=DATAGRAM)
        server_side.load_cert_chain(*certificate)
        client = QuicConnection(configuration=client_side)
        client.connect(SERVER, now=0.0)
        self.server = QuicConnection(configuration=server_side, original_destination_connection_id=client.original_destination_connection_id)
        if setup is not None:
            setup(self.server)
        ends = {"client": (client, up), "server": (self.server, self.down)}
        now, order, started, received, asked = 0.0, 0, None, 0, False
        arrivals: list[tuple[float, int, str, bytes]] = []
        # A server has no path before its first datagram.
        awake = {"client"}
        while received < SIZE:
            for name in sorted(awake):
                end, link = ends[name]
                if (timer := end.get_timer()) is not None and timer <= now:
                    end.handle_timer(now=now)
                while (event := end.next_event()) is not None:
                    if isinstance(event, StreamDataReceived):
                        if name == "server":
                            started = now
                            end.send_stream_data(event.stream_id, bytes(SIZE), end_stream=True)
                        else:
                            received += len(event.data)
                if name == "client" and not asked:
                    end.send_stream_data(end.get_next_available_stream_id(), b"GET", end_stream=True)
                    asked = True
                for data, _ in end.datagrams_to_send(now=now):
                    at = link.arrival(now, len(data) + HEADERS)
                    if at is not None:
                        order += 1
                        heapq.heappush(arrivals, (at, order, "server" if name == "client" else "client", data))
            if received >= SIZE:
                break
            timers = [timer for name in awake if (timer := ends[name][0].get_timer()) is not None]
            # The clock moves: aioquic may be due again at once, for an ACK that its pacer holds back or for the next packet of a train.
            now = max(now + 1e-6, min([*timers, arrivals[0][0]] if arrivals else timers))
            assert now < 60, f"{received} of {SIZE} bytes in a minute"
            while arrivals and arrivals[0][0] <= now:
                _, _, name, data = heapq.heappop(arrivals)
                awake.add(name)
                ends[name][0].receive_datagram(data, SERVER if name == "client" else CLIENT, now=now)
        assert started is not None
        self.seconds = now - started

    @property
    def sender(self) -> ff.Sender:
        return firstflight.aioquic.sender_of(self.server)


SLOW, FAST = "rate=20Mbit,rtt=50ms,queue=50ms", "rate=50Mbit,rtt=100ms,queue=50ms"


@pytest.mark.parametrize(
    ("path", "arm", "paced"),
    [
        (SLOW, "slowstart", False),
        (SLOW, "hystart++", False),
        (SLOW, "limited", False),
        (FAST, "hystart++", False),
        (SLOW, "plumb", True),
        (FAST, "rapid", True),
    ],
)
def test_a_download_takes_as_long_as_in_the_simulator(certificate: tuple[Path, Path], path: str, arm: str, paced: bool) -> None:
    setup = (lambda server: firstflight.aioquic.pace(server, arm)) if paced else None
    done = Download(certificate, ff.Path(path), "reno" if paced else arm, setup)
    expected = float(ff.compare(path, arms=[arm], bytes=SIZE).rows.column("ttlb_ms")[0]) / 1000
    assert done.seconds == pytest.approx(expected, rel=0.10), f"{arm} on {path}: {done.seconds:.3f} s, in the simulator {expected:.3f} s"
    assert done.sender.misfed is None, f"{arm}: aioquic reports what cannot be: {done.sender.misfed}"
    exit = done.sender.exit
    assert exit is not None, f"{arm} on {path} stays in startup although 5 MB fill the path"
    assert exit.reason in {"loss", "delay", "css_done"} and exit.cwnd <= exit.detect_cwnd, f"{exit.reason}: {exit.detect_cwnd} to {exit.cwnd}"


@pytest.mark.parametrize(("arm", "paced"), [("slowstart", False), ("hystart++", False), ("rapid", True)])
def test_a_download_over_loopback_is_complete(certificate: tuple[Path, Path], arm: str, paced: bool) -> None:
    senders: list[ff.Sender] = []

    class Server(QuicConnectionProtocol):
        def __init__(self, quic: QuicConnection, stream_handler: QuicStreamHandler | None = None) -> None:
            super().__init__(quic, stream_handler)
            senders.append(firstflight.aioquic.pace(quic, arm) if paced else firstflight.aioquic.sender_of(quic))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.write(bytes(SIZE))
        writer.write_eof()

    async def download() -> int:
        configuration = QuicConfiguration(is_client=False, congestion_control_algorithm="reno" if paced else arm)
        configuration.load_cert_chain(*certificate)
        handlers: set[asyncio.Task[None]] = set()
        server = await serve(
            "127.0.0.1",
            0,
            configuration=configuration,
            create_protocol=Server,
            stream_handler=lambda reader, writer: handlers.add(asyncio.ensure_future(answer(reader, writer))),
        )
        assert server._transport is not None
        port = server._transport.get_extra_info("sockname")[1]
        client_side = QuicConfiguration(is_client=True, verify_mode=0, max_data=1 << 30, max_stream_data=1 << 30)
        async with connect("127.0.0.1", port, configuration=client_side) as client:
            reader, writer = await client.create_stream()
            writer.write_eof()
            received = len(await reader.read())
        server.close()
        return received

    assert asyncio.run(asyncio.wait_for(download(), timeout=100)) == SIZE
    assert senders[0].cwnd > 0 and senders[0].misfed is None, f"{arm}: aioquic reports what cannot be: {senders[0].misfed}"


def test_arms_that_are_a_rate_are_refused_with_the_way_out() -> None:
    for arm in ["rapid", "plumb", "bbr3", "jumpstart", "slowstart@(burst=4)"]:
        with pytest.raises(ff.Refused, match=r"firstflight\.aioquic\.pace"):
            firstflight.aioquic.register(arm)


def test_another_version_of_aioquic_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firstflight.aioquic, "version", lambda _: "1.8.0")
    with pytest.raises(ff.Refused, match=r"aioquic 1\.8\.0: .* aioquic==1\.7\.2"):
        firstflight.aioquic.pace(QuicConnection(configuration=QuicConfiguration(is_client=True)), "rapid")


def test_a_connection_of_another_controller_has_no_sender() -> None:
    with pytest.raises(ff.Refused, match="runs RenoCongestionControl"):
        firstflight.aioquic.sender_of(QuicConnection(configuration=QuicConfiguration(is_client=True)))
