//go:build unix

package page_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/front/page"
	"github.com/haftdev/haft/model/script"
)

// The file that --open writes leads a browser into the page, logged in, although browsers
// say that another site sent them there.
func TestRedirect(t *testing.T) {
	s := newSite(t, func(string) []script.Part { return nil })
	path := filepath.Join(t.TempDir(), "open.html")
	if err := os.WriteFile(path, []byte(page.Redirect(s.url+"/#login="+s.code())), 0o600); err != nil {
		t.Fatal(err)
	}
	p := s.browser.tab(800, 600)
	p.open("file://" + path)
	p.wait(`location.origin === "` + s.url + `" && document.querySelector(".sessions")?.dataset.ready`)
	p.wait(`location.hash === ""`)
}
