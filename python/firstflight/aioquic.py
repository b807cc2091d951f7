"""The startups and recoveries of firstflight in aioquic.

Importing this module registers every startup that needs no pacing rate as a congestion control algorithm of aioquic:

>>> import firstflight.aioquic
>>> from aioquic.quic.configuration import QuicConfiguration
>>> server = QuicConfiguration(is_client=False, congestion_control_algorithm="hystart++")

`register` adds any other arm, with options, avoidance and recovery. aioquic's pacer releases the window once per smoothed RTT and takes no
rate from a controller, so that arms which are a rate (`rapid`, `plumb`, `bbr`, ...) are refused; `pace` replaces the pacer of a connection.
`sender_of` returns the sender of a connection, with its window, phase and exit.

aioquic's interface for controllers limits what an arm sees: no ECN counts, no sign that the application is the limit (taken to be so if less
than half of the window is in flight), no end of an ACK and no spurious losses. A probe timeout reports its packets as no longer in flight.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from aioquic.quic.congestion.base import QuicCongestionControl, register_congestion_control
from aioquic.quic.connection import QuicConnection
from aioquic.quic.packet import QuicPacketType
from aioquic.quic.packet_builder import QuicSentPacket
from aioquic.quic.recovery import QuicPacketPacer

from . import _engine
from ._arm import Arm
from ._engine import Refused, Sender
from ._lists import arms as _arms

__all__ = ["TESTED", "pace", "register", "sender_of"]

TESTED = "1.7.2"
"""The version of aioquic whose pacer `pace` replaces."""

_DATA = (QuicPacketType.ONE_RTT, QuicPacketType.ZERO_RTT)


def _ns(seconds: float) -> int:
    return int(seconds * 1e9)


class _Controller(QuicCongestionControl):
    """An arm as aioquic calls it."""

    def __init__(self, arm: str, max_datagram_size: int) -> None:
        # aioquic reports no time before the first packet of data, with which the sender starts anew.
        self.sender = Sender(arm, datagram=max_datagram_size)
        # Bytes of packets that were built and are not reported yet.
        self.unreported = 0
        self._positions: dict[tuple[QuicPacketType, int], int] = {}
        self._lost: tuple[float, int] = (0.0, 0)
        self._has_data = False

    # aioquic reads these as attributes.
    @property
    def congestion_window(self) -> int:  # type: ignore[override]
        return self.sender.window

    @property
    def bytes_in_flight(self) -> int:  # type: ignore[override]
        return self.sender.bytes_in_flight

    @property
    def ssthresh(self) -> int | None:  # type: ignore[override]
        return self.sender.ssthresh

    def on_packet_sent(self, *, packet: QuicSentPacket) -> None:
        assert packet.sent_time is not None
        now = _ns(packet.sent_time)
        self.unreported = 0
        if not self._has_data and packet.packet_type in _DATA:
            self._has_data = True
            self.sender.begin_data(now)
        self._positions[packet.packet_type, packet.packet_number] = self.sender.on_sent(now, packet.sent_bytes)

    def on_packet_acked(self, *, now: float, packet: QuicSentPacket) -> None:
        assert packet.sent_time is not None
        position = self._positions.pop((packet.packet_type, packet.packet_number))
        self.sender.on_acked(_ns(now), position, packet.sent_bytes, _ns(packet.sent_time))

    def on_packets_lost(self, *, now: float, packets: Iterable[QuicSentPacket]) -> None:
        lost = list(packets)
        positions = [self._positions.pop((packet.packet_type, packet.packet_number)) for packet in lost]
        self._lost = now, max(positions)
        self.sender.on_lost(_ns(now), max(positions), sum(packet.sent_bytes for packet in lost))

    def on_persistent_congestion(self) -> None:
        # It follows the losses that establish it.
        now, position = self._lost
        self.sender.on_lost(_ns(now), position, 0, persistent=True)

    def on_packets_expired(self, *, packets: Iterable[QuicSentPacket]) -> None:
        for packet in packets:
            self._positions.pop((packet.packet_type, packet.packet_number))
            self.sender.forget(packet.sent_bytes)

    def on_rtt_measurement(self, *, now: float, rtt: float) -> None:
        """The sender takes its own samples, from the packets that ACKs name."""


class _Pacer(QuicPacketPacer):
    """The pacer of an arm: its rate and its trains. aioquic builds a batch of packets and reports it when it is complete."""

    def __init__(self, controller: _Controller, max_datagram_size: int) -> None:
        super().__init__(max_datagram_size=max_datagram_size)
        self._controller = controller

    def next_send_time(self, now: float) -> float | None:  # type: ignore[override]
        wait = self._controller.sender.wait(_ns(now), self._max_datagram_size, self._controller.unreported)
        return now + wait / 1e9 if wait else None

    def update_after_send(self, now: float) -> None:
        self._controller.unreported += self._max_datagram_size
        self._controller.sender.take(_ns(now), self._max_datagram_size)

    def update_rate(self, congestion_window: int, smoothed_rtt: float) -> None:
        """The rate is the arm's."""


def register(arm: str | Arm, name: str | None = None) -> str:
    """Registers an arm as a congestion control algorithm of aioquic.

    Returns its name for `QuicConfiguration.congestion_control_algorithm`: `name`, or the arm's text.

    Raises `Refused` if the arm needs a pacing rate, with the way out.

    >>> import firstflight.aioquic
    >>> firstflight.aioquic.register("search/reno@(iw=20)", "search20")
    'search20'
    >>> firstflight.aioquic.register("rapid")
    Traceback (most recent call last):
    ...
    firstflight.Refused: arm `rapid/cubic/prr`: aioquic has no pacing rate to spread a jump with: use rapid(jump=off), or firstflight.aioquic.pace
    """
    text = str(arm)
    _engine.refuse_rate(text, "aioquic", "firstflight.aioquic.pace")

    def factory(*, max_datagram_size: int) -> QuicCongestionControl:
        return _Controller(text, max_datagram_size)

    register_congestion_control(name or text, factory)
    return name or text


def pace(connection: QuicConnection, arm: str | Arm) -> Sender:
    """Gives a connection that has sent nothing yet any arm, and the pacer that the arm needs. Returns its sender.

    Call it where the connection is made: in `__init__` of your subclass of `QuicConnectionProtocol`, with `self._quic`. It replaces private
    parts of aioquic and therefore works with the version in `TESTED` only.

    Raises `Refused` for another version, and for a connection that has already sent.
    """
    found = version("aioquic")
    if found != TESTED:
        raise Refused(f"aioquic {found}: pace replaces private parts of aioquic {TESTED}; install aioquic=={TESTED}, or use an arm without pacing")
    recovery: Any = connection._loss
    if recovery.bytes_in_flight:
        raise Refused("the connection has sent packets; call pace before its first packet")
    datagram = connection._max_datagram_size
    recovery._cc = controller = _Controller(str(arm), datagram)
    recovery._pacer = _Pacer(controller, datagram)
    return controller.sender


def sender_of(connection: QuicConnection) -> Sender:
    """The sender of a connection whose algorithm is an arm.

    Raises `Refused` if the connection runs another algorithm.
    """
    controller = connection._loss._cc
    if not isinstance(controller, _Controller):
        raise Refused(f"the connection runs {type(controller).__name__}, no arm of firstflight")
    return controller.sender


def _register_all() -> None:
    for row in _arms().to_dicts():
        if row["kind"] == "startup":
            try:
                register(row["name"])
            except Refused:
                continue


_register_all()
