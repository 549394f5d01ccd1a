package blob

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// pack keeps the contents of 0 to n-1 in one file.
func pack(t *testing.T, d Dir, n int) (path string) {
	t.Helper()
	p, err := d.NewPack()
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := errors.Join(p.Add(Digest(content(i)), content(i)), p.Add(Digest(content(i)), content(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	packs := d.packs()
	if len(packs) != 1 {
		t.Fatalf("packs %q", packs)
	}
	return packs[0]
}

func content(i int) []byte { return bytes.Repeat([]byte(fmt.Sprint(i, ",")), i) }

// have returns which of n contents is available, and fails if one is not what it should be.
func have(t *testing.T, d Dir, n int) (found []int) {
	t.Helper()
	for i := range n {
		b, err := d.Get(t.Context(), Digest(content(i)))
		if err == nil && !bytes.Equal(b, content(i)) {
			t.Errorf("content %d is %q", i, b)
		}
		if err == nil {
			found = append(found, i)
		} else if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("content %d: %v", i, err)
		}
	}
	return found
}

func TestAPackHoldsManyContents(t *testing.T) {
	d := Dir(t.TempDir())
	pack(t, d, 100)
	if got := have(t, d, 101); len(got) != 100 {
		t.Errorf("have %v", got)
	}
	pack(t, d, 100) // what is there is not written again
}

// TestADamagedPackGivesNothingWrong flips and cuts every byte of a small pack.
func TestADamagedPackGivesNothingWrong(t *testing.T) {
	d := Dir(t.TempDir())
	path := pack(t, d, 6)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		flipped := bytes.Clone(whole)
		flipped[i] ^= 0x55
		for _, raw := range [][]byte{flipped, whole[:i]} {
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			have(t, d, 6)
		}
	}
}

func TestSweepKeepsWhatIsWanted(t *testing.T) {
	for name, tt := range map[string]struct {
		wanted, left int
	}{"nothing": {0, 0}, "a few": {5, 5}, "most": {90, 100}} {
		t.Run(name, func(t *testing.T) {
			d := Dir(t.TempDir())
			path := pack(t, d, 100)
			if err := os.WriteFile(filepath.Join(filepath.Dir(path), ".new-crashed"), []byte("rest"), 0o600); err != nil {
				t.Fatal(err)
			}
			wanted := map[string]bool{}
			for i := range tt.wanted {
				wanted[Digest(content(i+100-tt.wanted))] = true
			}
			o := &SweepOptions{Wanted: func(digest string) bool { return wanted[digest] }, Young: time.Hour}
			if s, err := d.Sweep(t.Context(), o); err != nil || s != (Swept{}) {
				t.Fatalf("swept young contents: %+v, %v", s, err)
			}
			then := time.Now().Add(-2 * time.Hour)
			for _, file := range []string{path, filepath.Join(filepath.Dir(path), ".new-crashed")} {
				if err := os.Chtimes(file, then, then); err != nil {
					t.Fatal(err)
				}
			}
			o.DryRun = true
			would, err := d.Sweep(t.Context(), o)
			if err != nil || len(have(t, d, 100)) != 100 {
				t.Fatalf("a dry run: %v", err)
			}
			o.DryRun = false
			did, err := d.Sweep(t.Context(), o)
			if err != nil || did != would {
				t.Errorf("swept %+v instead of %+v, error %v", did, would, err)
			}
			if got := have(t, d, 100); len(got) < tt.wanted || tt.wanted < 50 && len(got) != tt.left {
				t.Errorf("left %v", got)
			}
		})
	}
}

// TestWhatIsPutAgainIsYoung is about a session that begins while a sweep runs: what it keeps is there
// already and wanted by no one that the sweep knows.
func TestWhatIsPutAgainIsYoung(t *testing.T) {
	d := Dir(t.TempDir())
	path := pack(t, d, 50)
	single := []byte("alone")
	file, err := d.path(Digest(single))
	if err := errors.Join(err, d.Put(t.Context(), Digest(single), single)); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-2 * time.Hour)
	if err := errors.Join(os.Chtimes(path, then, then), os.Chtimes(file, then, then)); err != nil {
		t.Fatal(err)
	}
	pack(t, d, 1)
	if err := d.Put(t.Context(), Digest(single), single); err != nil {
		t.Fatal(err)
	}
	if s, err := d.Sweep(t.Context(), &SweepOptions{Wanted: func(string) bool { return false }, Young: time.Hour}); err != nil || s != (Swept{}) {
		t.Errorf("swept %+v, %v", s, err)
	}
}

// TestAPackThatIsSweptMeanwhileIsNotReliedOn sweeps after a new pack has read what the others hold.
func TestAPackThatIsSweptMeanwhileIsNotReliedOn(t *testing.T) {
	d := Dir(t.TempDir())
	path := pack(t, d, 50)
	p, err := d.NewPack()
	if err := errors.Join(err, os.Remove(path)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Add(Digest(content(7)), content(7)), p.Add(Digest(content(7)), content(7)), p.Close()); err != nil {
		t.Fatal(err)
	}
	if got := have(t, d, 50); len(got) != 1 || got[0] != 7 {
		t.Errorf("have %v", got)
	}
}
