package cli

import (
	"context"
	"io"
)

// readLine reads one line that a user types, and nothing after it, which is for other
// readers. The end of the input is an empty line; a signal ends the wait.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	typed := make(chan string, 1)
	go func() {
		var line []byte
		for one := make([]byte, 1); ; {
			n, err := in.Read(one)
			line = append(line, one[:n]...)
			if err != nil || n > 0 && one[0] == '\n' {
				typed <- string(line)
				return
			}
		}
	}()
	select {
	case line := <-typed:
		return line, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
