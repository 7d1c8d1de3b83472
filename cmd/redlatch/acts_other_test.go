//go:build !linux

package main

const actVariable = "REDLATCH_TEST_ACT"

func act(string) {}
