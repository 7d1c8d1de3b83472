package views

import (
	"encoding/base64"
	"io"
	"strings"
)

// A Name is a name in a document: for people, and exactly.
type Name struct {
	Text   string `json:"name"`
	Base64 string `json:"name_base64"`
}

// NameOf is the Name of these bytes.
func NameOf(name string) Name {
	return Name{strings.ToValidUTF8(name, "\uFFFD"), base64.StdEncoding.EncodeToString([]byte(name))}
}

// Write writes a document on many lines.
func Write(w io.Writer, document any) error {
	text, err := JSON(document, true)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}
