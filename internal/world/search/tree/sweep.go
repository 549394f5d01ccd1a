package tree

import (
	"time"

	"github.com/haftdev/haft/internal/world/search/rawfs"
)

// tick is how far apart two changes must be for every kernel to give them
// different times.
const tick = 20 * time.Millisecond

// recent says of what was looked at, no earlier than at, that a change since might
// have left its times as they are.
func recent(st rawfs.Stat, at time.Time) bool {
	return at.UnixNano()-max(st.Mtime, st.Ctime) < int64(tick)
}
