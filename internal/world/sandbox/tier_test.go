package sandbox_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/haftdev/haft/internal/world/sandbox"
)

// What a machine lacks is one sentence with one reason, however many attempts failed after the first.
func TestWhatIsLostIsOneSentence(t *testing.T) {
	disabled := &sandbox.StepError{Step: sandbox.StepStart, Errno: syscall.ENOSPC}
	landlock := &sandbox.StepError{Step: sandbox.StepLandlock, Errno: syscall.ENOSYS}
	mount := &sandbox.StepError{Step: sandbox.StepMount, Path: "/", Errno: syscall.EACCES}
	for _, c := range []struct {
		tier sandbox.Tier
		want string
	}{
		{sandbox.Tier{Kind: sandbox.TierBox}, ""},
		{sandbox.Tier{Kind: sandbox.TierLandlock, Failures: []*sandbox.StepError{disabled}}, "Commands cannot be previewed here: user namespaces are disabled (user.max_user_namespaces)."},
		{sandbox.Tier{Failures: []*sandbox.StepError{disabled, landlock, landlock}}, "Commands can be neither previewed nor confined here: user namespaces are disabled (user.max_user_namespaces)."},
		{sandbox.Tier{Failures: []*sandbox.StepError{mount}}, "Commands can be neither previewed nor confined here: could not mount (/): permission denied."},
		{sandbox.Tier{}, "Commands can be neither previewed nor confined here."},
	} {
		if got := c.tier.Lost(); got != c.want || strings.Contains(got, ";") {
			t.Errorf("%s\n got %s\nwant %s", c.tier, got, c.want)
		}
	}
}
