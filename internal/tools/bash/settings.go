package bash

import (
	"strconv"
	"strings"
	"time"
)

// numberOf returns the first of the named variables that is set to a positive
// number, 0 if none is.
func numberOf(environ []string, names ...string) int {
	for _, name := range names {
		for _, entry := range environ {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				if n, err := strconv.Atoi(value); err == nil && n > 0 {
					return n
				}
			}
		}
	}
	return 0
}

func millisOf(environ []string, names ...string) time.Duration {
	return time.Duration(numberOf(environ, names...)) * time.Millisecond
}

// firstSet returns the first value above zero.
func firstSet[T int | time.Duration](values ...T) T {
	for _, v := range values {
		if v > 0 {
			return v
		}
	}
	return 0
}
