package lang_test

import (
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/text/lang"
)

// A reason is built from parts, each of which may be a sentence; what was filled in stays.
func TestSentencesOfOtherLayers(t *testing.T) {
	zh, err := lang.Load("zh")
	if err != nil {
		t.Fatal(err)
	}
	for english, want := range map[string]string{
		"no rule allows it":                     "没有规则允许它",
		"git push is not known to be read-only": "不确定 git push 是否只读",
		"plan mode allows no changes, and git push is not known to be read-only":                   "plan 模式不允许任何更改，并且 不确定 git push 是否只读",
		"sed: -e: \"w x\" is not known to be a harmless sed script":                                "sed: -e: \"w x\" 不是确定无害的 sed 脚本",
		"node: not known to be read-only without --version":                                        "node：没有 --version 时，不确定是否只读",
		"it changed /a/b: it is protected: a private key (and 3 more)":                             "它修改了 /a/b：它受保护：私钥（另有 3 个）",
		"in default mode an edit needs approval; it is a link, and its target will be changed: /x": "在 default 模式下，编辑需要批准；它是一个链接，被修改的将是它的目标：/x",
		"it may destroy everything in the home directory":                                          "它可能毁掉主目录中的所有内容",
		"100%s: said by nobody":         "100%s: said by nobody",
		"":                              "",
		" is not known to be read-only": " is not known to be read-only", // nothing is filled in
	} {
		if got := zh.Sentence(english); got != want {
			t.Errorf("%q is %q, want %q", english, got, want)
		}
		if got := (*lang.Catalogue)(nil).Sentence(english); got != english {
			t.Errorf("in English %q is %q", english, got)
		}
	}
}

// A path may hold ": " as often as it likes: trying every part for every other one would take hours.
func TestASentenceOfManyParts(t *testing.T) {
	zh, err := lang.Load("zh")
	if err != nil {
		t.Fatal(err)
	}
	path := strings.Repeat("a: ", 400)
	if got := zh.Sentence(path + "b"); got != path+"b" {
		t.Errorf("%q is %q", path+"b", got)
	}
	if got, want := zh.Sentence(path+"no rule allows it"), "没有规则允许它"; !strings.HasSuffix(got, want) {
		t.Errorf("%q does not end in %q", got, want)
	}
}
