//go:build !race

package search

const slowdown = 1
