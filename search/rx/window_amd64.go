//go:build !purego

package rx

import "golang.org/x/sys/cpu"

// hasWindows says whether window3 runs here.
var hasWindows = cpu.X86.HasAVX2

// window3 gives the first i < n for which the three bytes at p[i] all share a
// bucket in t, or n. It reads 34 bytes from p[n-1] on. t holds, for each of the three
// bytes, the buckets by its low and by its high four bits.
//
//go:noescape
func window3(p *byte, n int, t *[96]byte) int
