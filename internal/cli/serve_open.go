package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/haftdev/haft/internal/front/page"
)

// openPage opens the page in a browser. The command lines of programs can be seen by other
// users of the machine, so the browser is given a file that leads it to the address, and
// that only this user can read.
func openPage(ctx context.Context, s served) error {
	path := filepath.Join(filepath.Dir(s.TokenFile), "open.html")
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("could not open a browser: %w", err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("could not open a browser: %w", err)
	}
	_, err = file.WriteString(page.Redirect(s.URL))
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("could not open a browser: %w", err)
	}
	slashed := filepath.ToSlash(path)
	if slashed[0] != '/' {
		slashed = "/" + slashed // a drive of Windows
	}
	openBrowser(ctx, (&url.URL{Scheme: "file", Path: slashed}).String())
	return nil
}
