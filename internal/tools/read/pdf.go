package read

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/sys/ownprogram"
	"github.com/haftdev/haft/internal/world/workspace/disk"
	"github.com/haftdev/haft/tool"
)

const (
	maxPDF      = 20 << 20 // bytes of a document sent whole; the API takes 32 MB in base64
	maxPages    = 20       // pages shown as text in one call
	maxPageText = 1 << 20  // bytes taken of pdftotext; more tokens than any result may hold
	pdfPatience = time.Minute
)

// pdftotext runs the program of that name on the file.
func pdftotext(ctx context.Context, pdf disk.File, first, last int) (string, error) {
	bin, err := ownprogram.Find("pdftotext")
	if err != nil {
		return "", tool.Errorf("To show the text of pages, Read needs the program pdftotext, which is not installed (package poppler-utils). Call Read without pages to see the whole document, or install pdftotext.")
	}
	ctx, cancel := context.WithTimeout(ctx, pdfPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "-layout", "-enc", "UTF-8", "-f", strconv.Itoa(first), "-l", strconv.Itoa(last), "-", "-")
	cmd.Stdin = io.NewSectionReader(pdf, 0, 1<<40)
	cmd.WaitDelay = time.Second
	var out, errs bounded
	out.most, errs.most = maxPageText, 4096
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if ctxErr := context.Cause(ctx); ctxErr != nil && !errors.Is(ctxErr, context.DeadlineExceeded) {
			return "", ctxErr
		}
		return "", tool.Errorf("pdftotext could not read the document: %s", strings.TrimSpace(errs.String()+" "+err.Error()))
	}
	return out.String(), nil
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.most - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
