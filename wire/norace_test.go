//go:build !race

package wire_test

// bigLine is the length of a line that nobody should send and everybody must
// take.
const bigLine = 50 << 20
