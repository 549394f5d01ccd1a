package main

import (
	"bytes"
	"fmt"
	"math"
)

const (
	width, height = 720, 320
	left, right   = 56, 700
	top, bottom   = 40, 250
)

// draw draws both costs over the commits. The floor is at 1.
func draw(points []point) []byte {
	most := 1.0
	for _, p := range points {
		most = max(most, p.start, p.turn)
	}
	most = math.Ceil(most)
	x := func(i int) float64 { return left + float64(right-left)*float64(i)/float64(max(len(points)-1, 1)) }
	y := func(v float64) float64 { return bottom - float64(bottom-top)*v/most }
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<text x="%d" y="20">Processor time, in multiples of the floor's</text>`+"\n", left)
	step := max(1, math.Round(most/6))
	for v := 0.0; v <= most; v += step {
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%.0f</text>`+"\n", left, y(v), right, left-8, y(v)+4, v)
	}
	fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#888" stroke-dasharray="4 3"/>`+"\n", left, y(1), right)
	for i, p := range points {
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="end" transform="rotate(-35 %.1f %d)">%s %s</text>`+"\n", x(i), bottom+16, x(i), bottom+16, p.name, p.date)
	}
	for n, line := range []struct {
		name, color string
		of          func(point) float64
	}{
		{"one call, from start to end", "#1f77b4", func(p point) float64 { return p.start }},
		{"each further call", "#d62728", func(p point) float64 { return p.turn }},
	} {
		b.WriteString(`<path fill="none" stroke="` + line.color + `" stroke-width="2" d="`)
		for i, p := range points {
			fmt.Fprintf(&b, "%c%.1f %.1f", "ML"[min(i, 1)], x(i), y(line.of(p)))
		}
		b.WriteString(`"/>` + "\n")
		for i, p := range points {
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/><text x="%.1f" y="%.1f" text-anchor="middle" fill="%s">%.1f</text>`+"\n",
				x(i), y(line.of(p)), line.color, x(i), y(line.of(p))-7, line.color, line.of(p))
		}
		fmt.Fprintf(&b, `<text x="%d" y="20" fill="%s">%s</text>`+"\n", 360+n*190, line.color, line.name)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}
