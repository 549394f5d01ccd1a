package house

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// permissive are licences under which a binary may be handed on with its notices alone, by
// a sentence that only they have.
var permissive = map[string]string{
	"Apache-2.0": "Apache License",
	"MIT":        "Permission is hereby granted, free of charge, to any person obtaining a copy",
	"BSD":        "Redistribution and use in source and binary forms, with or without modification, are permitted",
	"ISC":        "Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee",
}

// copyleft are words of licences that ask for more than notices, wherever in a text they are.
var copyleft = regexp.MustCompile(`(?i)GNU (Affero |Lesser )?General Public License|Server Side Public License|Business Source License|Mozilla Public License`)

// TestLicences reads the licence of every module that is part of the program: what is
// built is handed on, so each must allow that with its notices alone.
func TestLicences(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Dir}}{{end}}{{end}}", "./cmd/haft")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("list the modules of the program: %v", err)
	}
	seen, findings := map[string]bool{}, []string(nil)
	for line := range strings.Lines(string(out)) {
		module, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if module == "" || seen[module] {
			continue
		}
		seen[module] = true
		if why := unfit(licenceText(dir)); why != "" {
			findings = append(findings, fmt.Sprintf("%s: %s", module, why))
		}
	}
	if len(seen) < 10 {
		t.Fatalf("only %d modules were found", len(seen))
	}
	report(t, findings, "Use another module, or have the licence looked at and say in docs/dev/dependencies.md why it can be used.")
}

func licenceText(dir string) string {
	for _, pattern := range []string{"LICENSE*", "LICENCE*", "COPYING*", "License*"} {
		files, _ := filepath.Glob(filepath.Join(dir, pattern)) // the pattern is well formed
		for _, f := range files {
			if text, err := os.ReadFile(f); err == nil {
				return string(text)
			}
		}
	}
	return ""
}

// unfit returns why a licence does not allow what we do, or nothing.
func unfit(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return "has no licence"
	}
	if word := copyleft.FindString(text); word != "" && !strings.Contains(text, permissive["Apache-2.0"]) {
		return "is under the " + word
	}
	for _, sentence := range permissive {
		if strings.Contains(text, sentence) {
			return ""
		}
	}
	return "has a licence that is not known here: " + text[:min(len(text), 60)]
}
