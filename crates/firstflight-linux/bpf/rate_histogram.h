/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Quantiles of a stream of rates in 80 counters, as in the core's signal/rate_histogram.rs: four bins per octave, 1/16 Mbit/s to
 * 65 Gbit/s, interpolated within a bin whose edges are clipped to the observed extremes. Rates are in units of 2^-20 Mbit/s.
 *
 * Departures:
 * K9 without 128-bit arithmetic, an interval counts at most 2 GiB and a rate is at most 2 Tbit/s, so every product fits 64 bits.
 */
#ifndef FF_RATE_HISTOGRAM_H
#define FF_RATE_HISTOGRAM_H

#include "firstflight.h"

#define RATE_PER_BYTE_PER_NS 8388608000ull /* 8000 Mbit/s times 2^20 */
#define RATE_SHIFT_PER_US 23		   /* one byte per us is 2^23 */
#define RATE_MOST (1ull << 41)
#define RATE_BYTES_MOST (1ull << 31)
#define RATE_ONE (1ull << 16) /* 1/16 Mbit/s */
#define RATE_PER_OCTAVE 4
#define RATE_OCTAVES 20
#define RATE_BINS (RATE_PER_OCTAVE * RATE_OCTAVES)

struct rate_histogram {
	u64 smallest, largest;
	u16 offered, stride, skip;
	u8 counts[RATE_BINS];
};

/* `bytes` per `ns`, rounded down. */
INLINE u64 rate_of(u64 bytes, u64 ns)
{
	return min64(min64(bytes, RATE_BYTES_MOST) * RATE_PER_BYTE_PER_NS / max64(ns, 1), RATE_MOST);
}

/* Bytes transferred within `ns` (at most 4.3 s), rounded down: for whole microseconds and the remainder. */
INLINE u64 rate_bytes_in(u64 rate, u32 ns)
{
	return (rate * (ns / 1000) + rate * (ns % 1000) / 1000) >> RATE_SHIFT_PER_US;
}

/* Whether the larger exceeds the smaller by at most a quarter. */
INLINE bool rate_within_quarter(u64 a, u64 b)
{
	return max64(a, b) * 4 <= min64(a, b) * 5;
}

/* 2^16 * 2^(i/4), rounded. */
INLINE u64 rate_edge(u32 bin)
{
	u64 edge = bin % 4 == 0 ? RATE_ONE : bin % 4 == 1 ? 77936 : bin % 4 == 2 ? 92682 : 110218;

	return edge << bin / 4;
}

INLINE u32 rate_bin(u64 rate)
{
	u64 octaves = rate >> 16, mantissa;
	u32 octave = 0, step;

	if (rate < RATE_ONE)
		return 0;
	/* The position of the highest bit, found in halves. */
	for (step = 32; step; step /= 2) {
		if (octaves >> step) {
			octaves >>= step;
			octave += step;
		}
	}
	if (octave >= RATE_OCTAVES)
		return RATE_BINS - 1;
	mantissa = rate >> octave;
	return octave * RATE_PER_OCTAVE + (mantissa >= 77936) + (mantissa >= 92682) + (mantissa >= 110218);
}

INLINE void histogram_empty(struct rate_histogram *h)
{
	__builtin_memset(h, 0, sizeof(*h));
	h->smallest = ~0ull;
	h->stride = 1;
}

/*
 * When a counter is full, all are halved and only every second, fourth, ... sample counts, so that old and new samples keep their weight.
 * This and the next function are not inlined, so that the verifier checks their loops only once.
 */
SUBPROGRAM int histogram_add(struct rate_histogram *h, u64 rate)
{
	u32 bin = rate_bin(rate), i;

	if (!h)
		return 0;
	if (h->offered < 0xffff)
		h->offered++;
	h->smallest = min64(h->smallest, rate);
	h->largest = max64(h->largest, rate);
	if (h->skip) {
		h->skip--;
		return 0;
	}
	KEEP_BOUND(bin);
	if (bin >= RATE_BINS)
		return 0;
	h->counts[bin]++;
	if (h->counts[bin] == 0xff) {
		for (i = 0; i < RATE_BINS; i++)
			h->counts[i] /= 2;
		h->stride = h->stride < 0x8000 ? h->stride * 2 : 0xffff;
	}
	h->skip = h->stride - 1;
	return 0;
}

/* The rate below which `percent` of the samples lie; 0 without samples. */
SUBPROGRAM u64 histogram_quantile(const struct rate_histogram *h, u32 percent)
{
	u32 sum = 0, before = 0, rank, i, bin = 0, count = 0, below = 0;
	u64 lo, hi;

	if (!h)
		return 0;
	for (i = 0; i < RATE_BINS; i++)
		sum += h->counts[i];
	if (!sum)
		return 0;
	rank = max32((sum * percent + 99) / 100, 1);
	for (i = 0; i < RATE_BINS; i++) {
		if (before < rank) {
			bin = i;
			below = before;
			count = h->counts[i];
		}
		before += h->counts[i];
	}
	/* The first bin is open below, the last above. */
	lo = bin == 0 ? 0 : rate_edge(bin);
	hi = bin + 1 >= RATE_BINS ? ~0ull : rate_edge(bin + 1);
	lo = max64(min64(lo, h->largest), h->smallest);
	hi = max64(min64(hi, h->largest), h->smallest);
	return lo + (hi - lo) * (2 * (rank - below) - 1) / max32(2 * count, 1);
}
#endif
