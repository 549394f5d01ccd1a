package workspace

import (
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/world/workspace/atomic"
)

// fullError reports a full disk and the directories that take up most of it.
type fullError struct {
	Space   *atomic.SpaceError
	Largest []usage
}

// usage is the disk space that the files under a directory take up.
type usage struct {
	Dir   string
	Bytes int64
}

func (e *fullError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Could not write the file: %v. The file is unchanged.", e.Space)
	if len(e.Largest) > 0 {
		b.WriteString(" The largest directories under the project:")
	}
	for _, u := range e.Largest {
		fmt.Fprintf(&b, "\n%12d bytes  %s", u.Bytes, u.Dir)
	}
	return b.String()
}

func (e *fullError) Unwrap() error { return e.Space }
