# What is done often. `pip install -e '.[test]'` first; `serve` needs only '.[app]'.
.PHONY: serve test check docs

serve:  ## open the page
	workbench serve

test:  ## the tests of a bare pytest
	pytest

check:  ## everything a change must pass
	.ci/run

docs:  ## the documentation site, in site/
	python -m tests.command_reference docs/reference/commands.md
	mkdocs build --strict
