package trust

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/knowledge"
)

func TestTheStoreIsReadOnceForAllItems(t *testing.T) {
	store := NewStore(filepath.Join(t.TempDir(), "trust.json"))
	folder, err := store.Folder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var claims []knowledge.Claim
	var items []Item
	for i := range 2_100 {
		c := knowledge.Claim{Kind: knowledge.Agent, Name: fmt.Sprint("a", i), Text: fmt.Sprint("text ", i)}
		claims, items = append(claims, c), append(items, folder.Claim(c))
	}
	if err := folder.Grant(context.Background(), append(items, items...)...); err != nil {
		t.Fatal(err)
	}
	agreed := func() (n int) {
		for _, c := range claims {
			if folder.Agreed(c) {
				n++
			}
		}
		return n
	}
	if n := agreed(); n != len(items) || store.reads != 1 {
		t.Errorf("%d of %d items are trusted after %d reads of the store; want all after 1", n, len(items), store.reads)
	}

	// Another haft takes half of them back.
	other, err := NewStore(store.path).Folder(folder.project)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Revoke(context.Background(), items[:1_050]...); err != nil {
		t.Fatal(err)
	}
	if n := agreed(); n != 1_050 || store.reads != 2 {
		t.Errorf("%d items are trusted after %d reads once another store revoked 1050; want 1050 after 2", n, store.reads)
	}

	// A store that becomes writable for others is not believed any longer.
	if err := os.Chmod(store.path, 0o666); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(store.path); err == nil && info.Mode().Perm() == 0o666 {
		if _, err := folder.Trusted(items[2_000]); err == nil {
			t.Error("a store that others may write to is used without an error")
		}
	}
}
