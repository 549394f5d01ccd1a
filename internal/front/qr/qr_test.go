package qr_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/front/qr"
	"github.com/haftdev/haft/internal/test/needtest"
)

// decode reads codes with jsQR, a decoder that shares nothing with the encoder.
const decode = `
const jsQR = require("jsqr"), scale = 3;
const out = JSON.parse(require("fs").readFileSync(0, "utf8")).map(({side, runs}) => {
  const w = side * scale, data = new Uint8ClampedArray(w * w * 4).fill(255);
  for (const [x, y, n] of runs)
    for (let py = y * scale; py < (y + 1) * scale; py++)
      for (let px = x * scale; px < (x + n) * scale; px++) data.fill(0, (py * w + px) * 4, (py * w + px) * 4 + 3);
  const found = jsQR(data, w, w, {inversionAttempts: "dontInvert"});
  return found ? Buffer.from(found.binaryData).toString() : null;
});
console.log(JSON.stringify(out));`

// A drawing is an SVG as a decoder takes it.
type drawing struct {
	Side int      `json:"side"`
	Runs [][3]int `json:"runs"`
}

var (
	sides = regexp.MustCompile(`viewBox="0 0 (\d+) `)
	runs  = regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1h-(\d+)z`)
)

func drawingOf(t *testing.T, svg string) (d drawing) {
	t.Helper()
	d.Side, _ = strconv.Atoi(sides.FindStringSubmatch(svg)[1])
	for _, m := range runs.FindAllStringSubmatch(svg, -1) {
		var run [3]int
		for i := range run {
			run[i], _ = strconv.Atoi(m[i+1])
		}
		if m[3] != m[4] {
			t.Fatalf("a run goes %s to the right and %s back", m[3], m[4])
		}
		d.Runs = append(d.Runs, run)
	}
	return d
}

// Another decoder reads what was written, in every version.
func TestAnotherDecoderReadsIt(t *testing.T) {
	dir := needtest.NPM(t, "jsqr@1.4.0")
	texts := []string{"", "https://box.tail1234.ts.net/#pair=ABCDE-FGHIJ", "grüße, 世界 ✓"}
	for n := 1; n <= 2331; n += 11 + n/40 {
		texts = append(texts, strings.Repeat("https://box.example:7420/#", 100)[:n])
	}
	var list []drawing
	versions := map[int]bool{}
	for _, text := range texts {
		c, err := qr.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, drawingOf(t, c.SVG()))
		versions[list[len(list)-1].Side] = true
	}
	if len(versions) != 40 {
		t.Errorf("%d of 40 versions were written", len(versions))
	}
	raw, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "-e", decode)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(raw)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var read []*string
	if err := json.Unmarshal(out, &read); err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		if read[i] == nil || *read[i] != text {
			t.Errorf("a text of %d bytes was not read", len(text))
		}
	}
}

// A terminal shows the same modules as the drawing.
func TestTheTextIsTheDrawing(t *testing.T) {
	c, err := qr.Encode("https://box.example/#pair=ABCDE-FGHIJ")
	if err != nil {
		t.Fatal(err)
	}
	d := drawingOf(t, c.SVG())
	want := map[[2]int]bool{}
	for _, r := range d.Runs {
		for x := r[0]; x < r[0]+r[2]; x++ {
			want[[2]int{x, r[1]}] = true
		}
	}
	text := regexp.MustCompile(`\x1b\[[\d;]*m`).ReplaceAllString(c.Text(), "")
	got := 0
	for row, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		for x, sign := range []rune(line) {
			for half, dark := range []bool{sign == '▀' || sign == '█', sign == '▄' || sign == '█'} {
				if dark != want[[2]int{x, 2*row + half}] {
					t.Fatalf("module %d, %d is not as in the drawing", x, 2*row+half)
				}
				if dark {
					got++
				}
			}
		}
	}
	if got != len(want) || got == 0 {
		t.Errorf("%d dark modules, want %d", got, len(want))
	}
}

// What does not fit is refused.
func TestATextThatIsTooLong(t *testing.T) {
	if _, err := qr.Encode(strings.Repeat("a", 2332)); err == nil || !strings.Contains(err.Error(), "2332 bytes") {
		t.Errorf("%v", err)
	}
}
