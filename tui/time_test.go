package tui

import "time"

type duration = time.Duration

// sleep passes time in a synctest bubble, where that costs none.
func sleep(d duration) { time.Sleep(d) }
