package textfile

import (
	"strings"
	"testing"
)

// TestDeclarations: what a file says of itself is believed where its bytes agree.
func TestDeclarations(t *testing.T) {
	const gbk, utf = "GBK", "UTF-8"
	cases := []struct{ name, written, text, want string }{
		{"PEP 263", "GBK", "# -*- coding: gbk -*-\nx = '姓名'\n", gbk},
		{"PEP 263 in the second line", "GBK", "#!/usr/bin/env python\n# coding=gb2312\nx = '姓名'\n", gbk},
		{"a coding comment in the third line says nothing", "GBK", "#\n#\n# coding: big5\nx = '读取用户列表'\n", "GB18030"},
		{"vim's form", "EUC-KR", "# vim: set fileencoding=cp949 :\nx = '값'\n", "EUC-KR"},
		{"Emacs in another language", "Shift_JIS", "// -*- mode: c++; coding: shift_jis -*-\n// 値\n", "Shift_JIS"},
		{"XML", "Big5", "<?xml version=\"1.0\" encoding=\"big5\"?>\n<a>值</a>\n", "Big5"},
		{"HTML", "GBK", "<!DOCTYPE html>\n<html><head><meta charset=\"gb2312\"><title>值</title>\n", gbk},
		{"old HTML", "windows-1251", "<html><meta http-equiv=\"Content-Type\" content=\"text/html; charset=windows-1251\">\n<p>Да\n", "windows-1251"},
		{"CSS", "GBK", "@charset \"gbk\";\na::before { content: \"值\"; }\n", gbk},
		{"a declaration left behind by a conversion", "UTF-8", "# coding: gbk\nx = '读取用户列表'\n", utf},
		{"a declaration that the bytes contradict", "windows-1251", "# coding: utf-8\n# Чтение списка пользователей\n", "windows-1251"},
		{"a name that nobody knows", "GBK", "# coding: klingon\nx = '读取用户列表'\n", "GB18030"},
	}
	for _, c := range cases {
		enc, ok := ByName(c.written)
		if !ok {
			t.Fatal(c.written)
		}
		raw, err := enc.Encode(c.text)
		if err != nil {
			t.Fatal(err)
		}
		text, err := Parse(raw)
		if err != nil || text.Encoding().String() != c.want || string(text.Bytes()) != c.text || text.Encoding().Unsure() {
			t.Errorf("%s: %v, %v; want %s", c.name, text.Encoding(), err, c.want)
		}
	}
}

func TestLookupTakesTheNamesThatPeopleWrite(t *testing.T) {
	for label, want := range map[string]string{
		"gbk": "GBK", "GB2312": "GBK", "cp936": "GBK", "gb18030": "GB18030", "big5": "Big5", "shift-jis": "Shift_JIS", "sjis": "Shift_JIS",
		"cp932": "Shift_JIS", "euc_kr": "EUC-KR", "CP1251": "windows-1251", "win-1251": "windows-1251", "latin-1": "ISO-8859-1",
		"iso-8859-15": "ISO-8859-15", "koi8_r": "KOI8-R", "utf8": "UTF-8", "UTF-8-SIG": "UTF-8 with BOM", "utf-16le": "UTF-16LE", "UTF-16LE with BOM": "UTF-16LE with BOM",
	} {
		enc, err := Lookup(label)
		if err != nil || enc.String() != want || enc.Guessed() {
			t.Errorf("%s: %v, %v; want %s", label, enc, err, want)
		}
	}
	for _, label := range []string{"", "klingon", "iso-2022-jp", "ascii"} {
		if enc, err := Lookup(label); err == nil && label != "ascii" {
			t.Errorf("%q is taken for %v", label, enc)
		} else if err != nil && !strings.Contains(err.Error(), "GBK") {
			t.Errorf("%q: the error does not name what there is: %v", label, err)
		}
	}
}

// TestADoubtIsSettledByTheProject: two letters may be anything; the other files say what they are.
func TestADoubtIsSettledByTheProject(t *testing.T) {
	raw := []byte("\xd0\xd5\xc3\xfb")
	if enc, _ := Detect(raw); !enc.Unsure() {
		t.Fatalf("%v is sure", enc)
	}
	for _, other := range []string{"GBK", "windows-1251"} {
		enc, err := DetectWith(raw, Hints{Others: func() []string { return []string{"UTF-8", other} }})
		if err != nil || enc.Unsure() || !sameFamily(enc.String(), other) {
			t.Errorf("next to %s: %v, unsure %v, %v", other, enc, enc.Unsure(), err)
		}
	}
	asked := false
	long := []byte("# \xd7\xf7\xd5\xdf\xa3\xba\xcd\xf5\xd0\xa1\xc3\xf7\n") // 作者：王小明
	enc, _ := DetectWith(long, Hints{Others: func() []string { asked = true; return []string{"windows-1251"} }})
	if asked || enc.String() != "GB18030" {
		t.Errorf("%v; the project was asked: %v", enc, asked)
	}
	set, _ := Lookup("big5")
	if enc, _ := DetectWith(raw, Hints{Charset: &set}); enc.String() != "Big5" || enc.Unsure() {
		t.Errorf("a setting for the path does not count: %v", enc)
	}
}
