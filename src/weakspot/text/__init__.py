"""English by rule, on one engine: word lists and inflection (`lexicon`), a tagger, and what is made of them.

`changes` says where words stand and puts others there; `grammar` bends and denies. On these are built the
edits of captions for a hunt (`caption_edits`), those of one category (`contrast`), the sixteen edits of a
text (`text_edits`), and what two texts differ in (`differences`, `exchanges`, `same_words`). WordNet is read
where it is installed. No other library is needed: one for inflection would add to every install, and its
forms would change the edits of runs that exist.
"""
