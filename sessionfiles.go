package haft

import (
	"bufio"
	"fmt"
	"math"
	"os"
)

// readLines calls f with each line, which is valid until f returns. The last one
// may be cut.
func readLines(path string, f func([]byte)) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read session: %w", err)
	}
	defer file.Close()
	in := bufio.NewScanner(file)
	in.Buffer(make([]byte, 64<<10), math.MaxInt)
	for in.Scan() {
		f(in.Bytes())
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("read session: %w", err)
	}
	return nil
}
