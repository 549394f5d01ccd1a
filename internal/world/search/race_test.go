//go:build race

package search

// slowdown is what the race detector costs, roughly.
const slowdown = 5
