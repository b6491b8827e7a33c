// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// search.html?q=WORDS lists the sections that contain all the words; first those that have them in
// their titles. searchIndex is [[title, address, text], ...].
const RESULTS_MAX = 50;
const EXCERPT = 160;

const query = new URLSearchParams(location.search).get('q') ?? '';
const words = query.toLowerCase().split(/\s+/).filter(word => word);

function score([title, , text]) {
    let sum = 0;
    for (const word of words) {
        const inTitle = title.toLowerCase().includes(word);
        if (!inTitle && !text.toLowerCase().includes(word))
            return 0;
        sum += inTitle ? 10 : 1;
    }
    return sum;
}

function excerpt(text) {
    const at = text.toLowerCase().indexOf(words[0]);
    return text.slice(Math.max(0, at - EXCERPT / 2), Math.max(0, at) + EXCERPT);
}

const found = searchIndex
    .map(entry => ({entry, score: score(entry)}))
    .filter(({score}) => score > 0)
    .sort((a, b) => b.score - a.score);

for (const {entry: [title, address, text]} of found.slice(0, RESULTS_MAX)) {
    const link = document.createElement('a');
    link.href = address;
    link.textContent = title;
    const paragraph = document.createElement('p');
    paragraph.textContent = excerpt(text);
    const item = document.createElement('li');
    item.append(link, paragraph);
    document.getElementById('results').append(item);
}
document.getElementById('summary').textContent = query === ''
    ? 'Type words into the field.' : `${found.length} sections contain “${query}”.`;
document.querySelector('input[name=q]').value = query;
