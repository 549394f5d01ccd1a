package lang_test

import (
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/text/lang"
)

func TestTheLanguageIsChosen(t *testing.T) {
	for name, c := range map[string]struct {
		flag, setting string
		env           map[string]string
		want          string
	}{
		"nothing is said":    {"", "", nil, "en"},
		"the flag":           {"zh", "en", map[string]string{"LANG": "en_US.UTF-8"}, "zh"},
		"the setting":        {"", "zh", map[string]string{"LANG": "en_US.UTF-8"}, "zh"},
		"the locale":         {"", "", map[string]string{"LANG": "zh_CN.UTF-8"}, "zh"},
		"LC_ALL is stronger": {"", "", map[string]string{"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"},
		"other characters":   {"", "", map[string]string{"LANG": "zh_TW.UTF-8"}, "en"},
		"no messages":        {"", "", map[string]string{"LC_MESSAGES": "fr_FR"}, "en"},
	} {
		if got := lang.Choose(c.flag, c.setting, func(v string) string { return c.env[v] }); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestMessages(t *testing.T) {
	var english *lang.Catalogue
	if got := english.T("%d of %d", 1, 2) + ", " + english.Count(2, "file"); got != "1 of 2, 2 files" {
		t.Error(got)
	}
	zh, err := lang.Load("zh")
	if err != nil {
		t.Fatal(err)
	}
	if got := zh.T("%d of %d", 1, 2) + " " + zh.Count(2, "file") + " " + zh.T("falling back to %s from %s", "a", "b"); got != "1/2 2 个文件 从 b 改用 a" {
		t.Error(got)
	}
	if got := zh.T("said by nobody, 100%"); got != "said by nobody, 100%" {
		t.Error(got)
	}
	failed := fmt.Errorf("start: %w", lang.Errorf("it took longer than %s", 5*time.Second))
	if got := failed.Error() + " | " + zh.Error(failed) + " | " + zh.T("The statusLine command failed: %s", failed); got != "start: it took longer than 5s | start: 超过 5s 仍未完成 | statusLine 命令失败：start: 超过 5s 仍未完成" {
		t.Error(got)
	}
	if got := zh.Error(fs.ErrNotExist); got != fs.ErrNotExist.Error() {
		t.Error(got)
	}
	if _, err := lang.Load("../zh"); err == nil {
		t.Error("a language that is not there was read")
	}
}
