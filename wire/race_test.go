//go:build race

package wire_test

// bigLine is smaller under the race detector, which makes reading JSON slow.
const bigLine = 8 << 20
