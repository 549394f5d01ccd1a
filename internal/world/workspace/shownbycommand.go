package workspace

// maxShown is the largest file that is compared with the output of a command.
const maxShown = 2 << 20

// place is a line counted from 1; one before the first is the first.
func place(line, all int) int {
	if line < 0 {
		return max(1, all+1+line)
	}
	return line
}
