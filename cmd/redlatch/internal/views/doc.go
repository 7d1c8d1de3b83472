// Package views shows what package fleet finds: to people as lines, to programs as JSON documents.
//
// A document names its form in its member "schema", such as redlatch.ls/1. Members are added, never changed or removed; a
// reader ignores those that it does not know. Times are RFC 3339, durations are numbers of seconds, and what may be any bytes
// is there twice: "name" for people, with U+FFFD in place of what is no UTF-8, and "name_base64" exactly.
package views
