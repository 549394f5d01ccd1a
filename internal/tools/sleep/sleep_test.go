package sleep_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/haftdev/haft/internal/tools/sleep"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/tooltest"
)

func TestConformance(t *testing.T) {
	tooltest.Run(t, tooltest.Subject{
		Tool:  sleep.New(),
		Valid: []string{`{"duration_ms":0}`, `{"duration_ms":5}`},
		Slow:  `{"duration_ms":600000}`,
	})
}

func TestItReportsEachSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports []tool.Progress
		s := sleep.New()
		r, err := s.Run(context.Background(), &tool.Call{
			Input:    []byte(`{"duration_ms":3500}`),
			Progress: func(p tool.Progress) { reports = append(reports, p) },
		})
		if err != nil || r.Text() != "Slept for 3.5s." {
			t.Errorf("got %q, %v", r.Text(), err)
		}
		if len(reports) != 3 || reports[2] != (tool.TextProgress{Text: "slept 3s of 3.5s", Elapsed: 3 * time.Second}) {
			t.Errorf("reports: %v", reports)
		}
	})
}
