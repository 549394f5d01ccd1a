package qr

import (
	"fmt"
	"strings"

	"rsc.io/qr"
)

// A Code is a square of dark and light modules.
type Code struct{ *qr.Code }

// Encode returns the code of a text of up to 2,331 bytes.
func Encode(text string) (Code, error) {
	c, err := qr.Encode(text, qr.M)
	if err != nil {
		return Code{}, fmt.Errorf("draw a QR code of %d bytes: %w", len(text), err)
	}
	return Code{c}, nil
}

// quiet is how many light modules must be around a code.
const quiet = 4

// SVG is the code as a drawing, black on white whatever is around it.
func (c Code) SVG() string {
	var path strings.Builder
	for y := range c.Size {
		for x := 0; x < c.Size; x++ {
			from := x
			for c.Black(x, y) {
				x++
			}
			if x > from {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", from+quiet, y+quiet, x-from, x-from)
			}
		}
	}
	side := c.Size + 2*quiet
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %[1]d" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h%[1]dv%[1]dH0z"/><path d="%s"/></svg>`, side, path.String())
}

// Text is the code for a terminal, two rows in a line, black on white by escape codes.
func (c Code) Text() string {
	var out strings.Builder
	signs := map[[2]bool]string{{false, false}: " ", {true, false}: "▀", {false, true}: "▄", {true, true}: "█"}
	for y := -quiet; y < c.Size+quiet; y += 2 {
		out.WriteString("\x1b[38;5;16;48;5;231m")
		for x := -quiet; x < c.Size+quiet; x++ {
			out.WriteString(signs[[2]bool{c.Black(x, y), c.Black(x, y+1)}])
		}
		out.WriteString("\x1b[0m\n")
	}
	return out.String()
}
