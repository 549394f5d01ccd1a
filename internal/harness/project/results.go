package project

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/haftdev/haft/output"
)

// Results keeps long results where the person can find them afterwards, for a month
// and as long as there is room.
func Results() *output.Store {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil
	}
	run := fmt.Sprintf("%s-%d", time.Now().Format("20060102-150405"), os.Getpid())
	return output.NewShared(filepath.Join(cache, "haft", "results"), run, nil)
}
