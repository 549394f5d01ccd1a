//go:build !amd64 || purego

package rx

// hasWindows is off: the finder looks for single bytes with the standard library,
// and patterns without literals are left to the DFA.
const hasWindows = false

func window3(*byte, int, *[96]byte) (int, uint32) { panic("rx: window3 without AVX2") }
func either3(*byte, int, *[6]byte) (int, uint32)  { panic("rx: either3 without AVX2") }
