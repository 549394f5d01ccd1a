package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What bench/turns prints is read, kept and drawn.
func TestMeasuredKeptAndDrawn(t *testing.T) {
	costs, err := read("processor time, the least of 5 rounds\n\n         one call, from start to end  each further call\nhaft     28.1 ms (7.1)                1.60 ms (3.7)\nfloor    4.0 ms (1.0)                 0.43 ms (1.0)\n3a587e0  33.1 ms (8.3)                1.79 ms (4.1)\n")
	want := map[string][2]float64{"haft": {7.1, 3.7}, "floor": {1, 1}, "3a587e0": {8.3, 4.1}}
	if d := cmp.Diff(want, costs); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	points := []point{{"3a587e0", "2026-11-15", 8.3, 4.1}, {"haft", "now", 7.1, 3.7}}
	got, err := decode(string(encode(points)))
	if d := cmp.Diff(points, got, cmp.AllowUnexported(point{})); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	if _, err := decode("commit\tdate\tstart\tturn\na\tb\tc\n"); err == nil {
		t.Error("a line that misses a field was read")
	}
}

// The drawing is that of the table beside it, and is XML.
func TestTheDrawingIsOfTheTable(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", table))
	if err != nil {
		t.Fatal(err)
	}
	points, err := decode(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := os.ReadFile(filepath.Join("..", drawing))
	if err != nil || !bytes.Equal(drawn, draw(points)) {
		t.Errorf("%s is not drawn from %s (%v): run go run -C bench ./history", drawing, table, err)
	}
	for d := xml.NewDecoder(bytes.NewReader(drawn)); err == nil; {
		_, err = d.Token()
	}
	if !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}
