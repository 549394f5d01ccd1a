package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/models/catalog"
)

// What the list says is taken over, what it does not say stays.
func TestRefresh(t *testing.T) {
	raw, err := os.ReadFile("../models.json")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "models.json")
	if err := os.WriteFile(file, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	list := `{"data":[
		{"id":"claude-haiku-4-5-20251001","display_name":"Claude Haiku 4.5","max_input_tokens":300000,"max_tokens":64000},
		{"id":"claude-new-6","display_name":"Claude New 6","max_input_tokens":2000000,"max_tokens":256000,
		 "capabilities":{"effort":{"supported":true,"low":{"supported":true},"max":{"supported":true},"high":{"supported":false}},"thinking":{"types":{"adaptive":{"supported":true},"enabled":{"supported":true}}}}}]}`
	var said bytes.Buffer
	if err := run(file, strings.NewReader(list), time.Date(2027, 1, 2, 0, 0, 0, 0, time.UTC), &said); err != nil {
		t.Fatal(err)
	}
	if raw, err = os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	var f catalog.File
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatal(err)
	}
	if f.Date != "2027-01-02" || f.Aliases["opus"] == "" {
		t.Errorf("date %s, aliases %v", f.Date, f.Aliases)
	}
	byID := map[string]catalog.Entry{}
	for _, e := range f.Models {
		byID[e.ID] = e
	}
	if h := byID["claude-haiku-4-5"]; h.Context != 300_000 || h.Price == nil || h.Price.Input != 1 {
		t.Errorf("haiku is %+v", h)
	}
	if n := byID["claude-new-6"]; n.Context != 2_000_000 || n.Thinking != catalog.Adaptive || strings.Join(n.Efforts, " ") != "low max" {
		t.Errorf("the new one is %+v", n)
	}
	for _, want := range []string{"claude-new-6 is new", "claude-opus-5-5 is no longer listed"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("said %s, want %q", said.String(), want)
		}
	}
	if err := run(file, strings.NewReader(`{"data":[]}`), time.Now(), &said); err == nil {
		t.Error("an empty list was taken over")
	}
}
