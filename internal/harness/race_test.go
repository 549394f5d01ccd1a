//go:build race

package harness_test

// raced tells that the race detector runs, which makes everything slower.
const raced = true
