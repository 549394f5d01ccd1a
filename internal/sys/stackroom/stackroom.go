// Package stackroom prepares a goroutine for deep calls. A stack begins small and doubles when it is full; each time, all
// its frames are moved, for which the runtime reads the tables of the functions in them. A goroutine of which it is known
// that it goes deep is spared that by growing once, while there is next to nothing to move.
//
//	go func() {
//		stackroom.Reserve()
//		serve(ctx)
//	}()
//
// It has no state and is safe for concurrent use.
package stackroom

// size is what a turn of a conversation takes, from its goroutine to the system call at its end.
const size = 20 << 10

// Reserve makes the stack of the calling goroutine large enough for deep calls.
func Reserve() { use(0) }

// use has a frame of that size, for which the runtime makes room before it runs. It does not touch the room, so that the
// kernel provides it only when it is needed.
//
//go:noinline
func use(i int) byte {
	if i == 0 {
		return 0
	}
	var room [size]byte
	return room[i]
}
