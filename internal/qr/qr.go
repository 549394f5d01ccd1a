package qr

import (
	"fmt"
	"slices"
	"strings"
)

// A Code is a square of dark and light modules.
type Code struct {
	version, size int
	dark          []bool // row by row
	fixed         []bool // modules that are not data, and are not masked
}

// Of level M, by version from 1 on: the bytes of error correction in a block, and the blocks.
var (
	checkBytes = [...]int{10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26, 26, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28}
	blocks     = [...]int{1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16, 17, 17, 18, 20, 21, 23, 25, 26, 28, 29, 31, 33, 35, 37, 38, 40, 43, 45, 47, 49}
)

// Encode returns the code of a text of up to 2,331 bytes.
func Encode(text string) (*Code, error) {
	version := 1
	for ; len(text) > room(version); version++ {
		if version == len(blocks) {
			return nil, fmt.Errorf("draw a QR code: %d bytes are too many", len(text))
		}
	}
	c := &Code{version: version, size: 17 + 4*version}
	c.dark, c.fixed = make([]bool, c.size*c.size), make([]bool, c.size*c.size)
	c.drawPatterns()
	c.drawData(interleave(version, payload(version, text)))
	c.mask()
	return c, nil
}

// capacity is how many bytes a version has, error correction included.
func capacity(version int) int {
	bits := (16*version+128)*version + 64
	if version >= 2 {
		n := version/7 + 2
		bits -= (25*n-10)*n - 55
		if version >= 7 {
			bits -= 36
		}
	}
	return bits / 8
}

// lengthBits is how many bits say how long the text is.
func lengthBits(version int) int {
	if version < 10 {
		return 8
	}
	return 16
}

// room is how many bytes of text a version holds.
func room(version int) int {
	return capacity(version) - checkBytes[version-1]*blocks[version-1] - (4+lengthBits(version)+7)/8
}

// payload is the text as the bytes that are protected: the mode, the length, the text and
// padding.
func payload(version int, text string) []byte {
	var bits []bool
	add := func(value, n int) {
		for i := n - 1; i >= 0; i-- {
			bits = append(bits, value>>i&1 == 1)
		}
	}
	add(4, 4) // bytes
	add(len(text), lengthBits(version))
	for _, b := range []byte(text) {
		add(int(b), 8)
	}
	add(0, 4) // the end
	size := capacity(version) - checkBytes[version-1]*blocks[version-1]
	out := make([]byte, (len(bits)+7)/8)
	for i, set := range bits {
		if set {
			out[i/8] |= 0x80 >> (i % 8)
		}
	}
	for pad := byte(0xec); len(out) < size; pad ^= 0xec ^ 0x11 {
		out = append(out, pad)
	}
	return out[:size]
}

// interleave cuts the bytes into blocks, adds the error correction of each, and takes a byte
// of each block in turn, so that a scratch hurts every block a little.
func interleave(version int, data []byte) []byte {
	n, checks := blocks[version-1], checkBytes[version-1]
	short := len(data) / n
	long := len(data) % n // so many blocks, the last ones, have a byte more
	generator := generatorOf(checks)
	var parts, ends [][]byte
	for i := range n {
		size := short
		if i >= n-long {
			size++
		}
		parts, data = append(parts, data[:size]), data[size:]
		ends = append(ends, remainder(parts[i], generator))
	}
	var out []byte
	for _, list := range [][][]byte{parts, ends} {
		for at := range max(short+1, checks) {
			for _, b := range list {
				if at < len(b) {
					out = append(out, b[at])
				}
			}
		}
	}
	return out
}

// generatorOf is the polynomial whose roots are the first powers of 2, without its leading 1.
func generatorOf(degree int) []byte {
	out := make([]byte, degree)
	out[degree-1] = 1
	root := byte(1)
	for range degree {
		for i := range out {
			out[i] = times(out[i], root)
			if i+1 < degree {
				out[i] ^= out[i+1]
			}
		}
		root = times(root, 2)
	}
	return out
}

// remainder is what is left of the data divided by the generator.
func remainder(data, generator []byte) []byte {
	out := make([]byte, len(generator))
	for _, b := range data {
		factor := b ^ out[0]
		copy(out, out[1:])
		out[len(out)-1] = 0
		for i := range out {
			out[i] ^= times(generator[i], factor)
		}
	}
	return out
}

// times multiplies in the field of 256 elements that x⁸+x⁴+x³+x²+1 makes.
func times(a, b byte) (out byte) {
	for ; b > 0; b >>= 1 {
		if b&1 == 1 {
			out ^= a
		}
		high := a >> 7
		a = a<<1 ^ high*0x1d
	}
	return out
}

func (c *Code) at(x, y int) bool {
	return x >= 0 && y >= 0 && x < c.size && y < c.size && c.dark[y*c.size+x]
}

// set draws a module that is not data.
func (c *Code) set(x, y int, dark bool) {
	if x < 0 || y < 0 || x >= c.size || y >= c.size {
		return
	}
	c.dark[y*c.size+x], c.fixed[y*c.size+x] = dark, true
}

// drawPatterns draws what a camera finds the code by, and keeps the place of the format.
func (c *Code) drawPatterns() {
	for i := range c.size {
		c.set(6, i, i%2 == 0)
		c.set(i, 6, i%2 == 0)
	}
	end := c.size - 4
	for _, p := range [][2]int{{3, 3}, {end, 3}, {3, end}} {
		c.square(p[0], p[1], 4)
	}
	places := c.alignments()
	for i, x := range places {
		for j, y := range places {
			first, last := 0, len(places)-1
			if i == first && j == first || i == first && j == last || i == last && j == first {
				continue // the corners have squares already
			}
			c.square(x, y, 2)
		}
	}
	c.drawFormat(0)
	c.drawVersion()
}

// square draws rings around a place: dark, but for the second and the fifth.
func (c *Code) square(x, y, radius int) {
	for dy := -radius; dy <= radius; dy++ {
		for dx := -radius; dx <= radius; dx++ {
			ring := max(abs(dx), abs(dy))
			light := ring == 4 || radius == 4 && ring == 2 || radius == 2 && ring == 1
			c.set(x+dx, y+dy, !light)
		}
	}
}

func abs(n int) int { return max(n, -n) }

// alignments are the places, in both directions, of the small squares.
func (c *Code) alignments() []int {
	if c.version == 1 {
		return nil
	}
	n := c.version/7 + 2
	step := (c.version*8 + n*3 + 5) / (n*4 - 4) * 2
	out := []int{6}
	for i := n - 2; i >= 0; i-- {
		out = append(out, c.size-7-i*step)
	}
	return out
}

// protected appends the remainder by a generator of so many bits.
func protected(value, generator, bits int) int {
	rest := value
	for range bits {
		rest = rest<<1 ^ (rest>>(bits-1))*generator
	}
	return value<<bits | rest
}

// drawFormat says twice which mask is used, and that the level is M.
func (c *Code) drawFormat(mask int) {
	bits := protected(mask, 0x537, 10) ^ 0x5412 // level M is 0
	bit := func(i int) bool { return bits>>i&1 == 1 }
	for i := range 6 {
		c.set(8, i, bit(i))
		c.set(14-9-i, 8, bit(9+i))
	}
	c.set(8, 7, bit(6))
	c.set(8, 8, bit(7))
	c.set(7, 8, bit(8))
	for i := range 8 {
		c.set(c.size-1-i, 8, bit(i))
	}
	for i := 8; i < 15; i++ {
		c.set(8, c.size-15+i, bit(i))
	}
	c.set(8, c.size-8, true)
}

// drawVersion says twice which version it is, from 7 on.
func (c *Code) drawVersion() {
	if c.version < 7 {
		return
	}
	bits := protected(c.version, 0x1f25, 12)
	for i := range 18 {
		a, b := c.size-11+i%3, i/3
		c.set(a, b, bits>>i&1 == 1)
		c.set(b, a, bits>>i&1 == 1)
	}
}

// drawData writes the bits up and down in columns of two, from the right.
func (c *Code) drawData(data []byte) {
	n := 0
	up := true
	for right := c.size - 1; right >= 1; right -= 2 {
		if right == 6 {
			right = 5 // the column of the timing pattern has none
		}
		for i := range c.size {
			y := i
			if up {
				y = c.size - 1 - i
			}
			for _, x := range []int{right, right - 1} {
				if at := y*c.size + x; !c.fixed[at] && n < len(data)*8 {
					c.dark[at] = data[n/8]>>(7-n%8)&1 == 1
					n++
				}
			}
		}
		up = !up
	}
}

var masks = []func(x, y int) bool{
	func(x, y int) bool { return (x+y)%2 == 0 },
	func(_, y int) bool { return y%2 == 0 },
	func(x, _ int) bool { return x%3 == 0 },
	func(x, y int) bool { return (x+y)%3 == 0 },
	func(x, y int) bool { return (x/3+y/2)%2 == 0 },
	func(x, y int) bool { return x*y%2+x*y%3 == 0 },
	func(x, y int) bool { return (x*y%2+x*y%3)%2 == 0 },
	func(x, y int) bool { return ((x+y)%2+x*y%3)%2 == 0 },
}

// mask inverts the data by the pattern that leaves the fewest shapes which a camera could
// take for something else.
func (c *Code) mask() {
	best, least := 0, -1
	for n := range masks {
		c.invert(n)
		if p := c.penalty(); least < 0 || p < least {
			best, least = n, p
		}
		c.invert(n) // back
	}
	c.invert(best)
}

func (c *Code) invert(n int) {
	for i := range c.dark {
		if !c.fixed[i] && masks[n](i%c.size, i/c.size) {
			c.dark[i] = !c.dark[i]
		}
	}
	c.drawFormat(n)
}

// penalty counts long runs, even squares, shapes like those of the corners, and how far the
// code is from being half dark.
func (c *Code) penalty() (sum int) {
	dark := 0
	for a := range c.size {
		for _, turned := range []bool{false, true} {
			line := make([]bool, c.size)
			for b := range line {
				if turned {
					line[b] = c.at(a, b)
				} else {
					line[b] = c.at(b, a)
				}
			}
			sum += linePenalty(line)
		}
		for b := range c.size {
			if c.at(b, a) {
				dark++
			}
			if v := c.at(b, a); a > 0 && b > 0 && v == c.at(b-1, a) && v == c.at(b, a-1) && v == c.at(b-1, a-1) {
				sum += 3
			}
		}
	}
	return sum + 10*(abs(dark*20-c.size*c.size*10)/(c.size*c.size))
}

// corner is how a line through a corner's square looks, with the light before or behind it.
var corner = [][]bool{
	{false, false, false, false, true, false, true, true, true, false, true},
	{true, false, true, true, true, false, true, false, false, false, false},
}

func linePenalty(line []bool) (sum int) {
	run := 0
	for i, v := range line {
		if i > 0 && v == line[i-1] {
			run++
		} else {
			run = 1
		}
		switch {
		case run == 5:
			sum += 3
		case run > 5:
			sum++
		}
		for _, shape := range corner {
			if i+len(shape) <= len(line) && slices.Equal(line[i:i+len(shape)], shape) {
				sum += 40
			}
		}
	}
	return sum
}

// quiet is how many light modules must be around a code.
const quiet = 4

// SVG is the code as a drawing, black on white whatever is around it.
func (c *Code) SVG() string {
	var path strings.Builder
	for y := range c.size {
		for x := 0; x < c.size; x++ {
			from := x
			for c.at(x, y) {
				x++
			}
			if x > from {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", from+quiet, y+quiet, x-from, x-from)
			}
		}
	}
	side := c.size + 2*quiet
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %[1]d" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h%[1]dv%[1]dH0z"/><path d="%s"/></svg>`, side, path.String())
}

// Text is the code for a terminal, two rows in a line, black on white by escape codes.
func (c *Code) Text() string {
	var out strings.Builder
	signs := map[[2]bool]string{{false, false}: " ", {true, false}: "▀", {false, true}: "▄", {true, true}: "█"}
	for y := -quiet; y < c.size+quiet; y += 2 {
		out.WriteString("\x1b[38;5;16;48;5;231m")
		for x := -quiet; x < c.size+quiet; x++ {
			out.WriteString(signs[[2]bool{c.at(x, y), c.at(x, y+1)}])
		}
		out.WriteString("\x1b[0m\n")
	}
	return out.String()
}
