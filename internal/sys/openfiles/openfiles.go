// Package openfiles says how many files this process may open, for those who share
// them out. It is pure and safe for concurrent use.
package openfiles

// Limit is how many files this process may open; at most 65,536, because nobody who
// shares them out needs more.
func Limit() int { return min(limit(), 1<<16) }
