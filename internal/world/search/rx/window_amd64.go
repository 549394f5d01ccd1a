//go:build !purego

package rx

import "golang.org/x/sys/cpu"

// hasWindows says whether window3 runs here.
var hasWindows = cpu.X86.HasAVX2

// window3 gives the first i, a multiple of 32 below n, where mask has bits set: one for
// each k < 32 for which the three bytes at p[i+k] all share a bucket in t. If there is
// none, i is n or more and mask 0. It reads 34 bytes from p[i] on. t holds, for
// each of the three bytes, the buckets by its low and by its high four bits.
//
//go:noescape
func window3(p *byte, n int, t *[96]byte) (i int, mask uint32)

// either3 is window3 for two triples of one byte each, in less than half the time.
//
//go:noescape
func either3(p *byte, n int, t *[6]byte) (i int, mask uint32)
